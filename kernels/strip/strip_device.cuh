// What the CUDA versions of the strip projector share: the settings as kernels get them, an event's ellipse walked
// pixel by pixel, and sums over a warp.
#pragma once

#include "kernels/math/log_sum.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/expectation.hpp"
#include "kernels/strip/kernel-inl.hpp"
#include "kernels/strip/strip.hpp"

namespace tofstream::strip {

using single_lane::strip_density;
using single_lane::strip_row;
using single_lane::StripRow;

using Terms = StripEventTerms<float>;
using Angles = StripAngles<float>;

inline constexpr unsigned all_lanes = 0xffffffffu;

/// Calls use(std::integral_constant<StripForm, form>) for a form that is known when it runs.
template <class Use>
void with_form(StripForm form, const Use& use) {
  if (form == StripForm::gaussian) return use(std::integral_constant<StripForm, StripForm::gaussian>{});
  if (form == StripForm::eq7) return use(std::integral_constant<StripForm, StripForm::eq7>{});
  use(std::integral_constant<StripForm, StripForm::full>{});
}

/// The projector's settings, as kernels take them by value.
struct Model {
  Grid grid;
  StripGeometry geometry;
  StripResolution resolution;
  const Angles* angles = nullptr;  // of each pixel, on the device; null but for the full form

  template <StripForm form>
  __device__ Terms terms(const EventView& events, std::int64_t i) const {
    return Terms::make(form, geometry, resolution, strip_response<float>(events, i));
  }
  __device__ float y(int row) const { return grid.origin_mm.y + static_cast<float>(row) * grid.voxel_mm.y; }
  __device__ float z(int column) const { return grid.origin_mm.z + static_cast<float>(column) * grid.voxel_mm.z; }

  /// P of the event at a pixel of the grid.
  template <StripForm form>
  __device__ float density(const Terms& event, int row, int column) const {
    const float dy = y(row) - event.y, shift = (z(column) - event.z) - dy * event.tan;
    Angles at{};
    if constexpr (form == StripForm::full) at = angles[grid.index(0, row, column)];
    return strip_density<form, float>(event, strip_row<float>(event, dy).template at<form>(event, shift), at);
  }
};

/// The sum over all lanes of a warp, in each of them.
__device__ inline float over_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
  return value;
}

/// A thread's share of the tally.
class LocalTally {
 public:
  __device__ void add(float expectation, bool used) {
    if (used)
      logarithms_.add(expectation);
    else
      ++skipped_;
  }
  /// Adds the warp's shares to the tally; all lanes call.
  __device__ void give(DeviceTally* tally) {
    double sum = logarithms_.value();
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
    const unsigned used = __reduce_add_sync(all_lanes, logarithms_.count());
    const unsigned skipped = __reduce_add_sync(all_lanes, skipped_);
    if (threadIdx.x % 32 != 0) return;
    if (used > 0) atomicAdd(&tally->used, static_cast<unsigned long long>(used));
    if (skipped > 0) atomicAdd(&tally->skipped, static_cast<unsigned long long>(skipped));
    if (used > 0) atomicAdd(&tally->log_sum, sum);
  }

 private:
  LogSum logarithms_;
  unsigned skipped_ = 0;
};

/// The pixels of an event's box as a warp goes through them: 32 at a time, y fastest, as the image has them.
struct WarpBox {
  StripBox box;
  int height, count;

  __device__ WarpBox(const Terms& event, const Grid& grid)
      : box(strip_box(event, grid)),
        height(max(box.y_last - box.y_first + 1, 0)),
        count(height * max(box.z_last - box.z_first + 1, 0)) {}

  /// Calls use(row, column, inside) in all lanes together; a lane past the end has nothing inside.
  template <class Use>
  __device__ void for_each(Use&& use) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float per_height = 1.0f / static_cast<float>(height);
    constexpr int exact = 1 << 21;  // so far half a pixel from the next whole number is not rounded away
    for (int first = 0; first < count; first += 32) {
      const int number = first + lane;
      const int column =
          count <= exact ? static_cast<int>((static_cast<float>(number) + 0.5f) * per_height) : number / height;
      use(box.y_first + number - column * height, box.z_first + column, number < count);
    }
  }
};

/// An event's sum of P times the image, in all lanes of a warp, and the largest P that the calling lane met.
struct WarpSum {
  float sum = 0, largest = 0;

  template <StripForm form>
  __device__ static WarpSum of(const Model& model, const Terms& event, const float* __restrict__ image) {
    WarpSum result;
    WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
      const float p = inside ? model.density<form>(event, row, column) : 0.0f;
      if (p > 0) result.sum += p * image[model.grid.index(0, row, column)];
      result.largest = fmaxf(result.largest, p);
    });
    result.sum = over_warp(result.sum);
    return result;
  }
};

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
