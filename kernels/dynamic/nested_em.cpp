// Nested EM on the CPU, and the choice of backend: see nested_em.hpp.
#include "kernels/dynamic/nested_em.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/dynamic/nested_em_voxel.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {
namespace {

constexpr int host_lanes = 16;  // a cache line of each image

/// What EM makes of the frames, side by side: images lie so that all frames of a voxel want the same place of the cache.
template <int functions, int lanes>
struct KeptFrames {
  std::vector<float>& room;
  KeptFrames(std::vector<float>& room, const detail::NestedArrays& a, std::int64_t v,
             const detail::VoxelCoefficients<functions, lanes>& before)
      : room(room) {
    room.resize(static_cast<std::size_t>(a.count) * host_lanes);
    for (int f = 0; f < a.count; ++f) detail::em_of_frame(a, f, v, before, room.data() + f * lanes);
  }
  const float* operator()(int frame) const { return room.data() + frame * lanes; }
};

template <int functions, int lanes>
int update_voxels(const detail::NestedArrays& arrays, std::int64_t v, std::vector<float>& room) {
  auto theta = detail::VoxelCoefficients<functions, lanes>::at(arrays, v);
  const KeptFrames<functions, lanes> frames(room, arrays, v, theta);
  detail::inner_steps(arrays, theta, frames);
  return theta.write(arrays, v);
}

std::int64_t nested_em_cpu(const detail::NestedArrays& arrays, int functions, std::int64_t voxels) {
  return detail::with_functions(functions, [&](auto count) {
    return tbb::parallel_reduce(
        tbb::blocked_range<std::int64_t>(0, voxels, 4096), std::int64_t{0},
        [&](const auto& range, std::int64_t replaced) {
          std::vector<float> room;
          std::int64_t v = range.begin();
          for (; v + host_lanes <= range.end(); v += host_lanes)
            replaced += update_voxels<count(), host_lanes>(arrays, v, room);
          for (; v < range.end(); ++v) replaced += update_voxels<count(), 1>(arrays, v, room);
          return replaced;
        },
        std::plus<>());
  });
}

bool is_value(double value) {
  return std::isfinite(value) && value >= 0;
}

void require_frames(std::span<const Image> coefficients, std::span<const NestedFrame> frames,
                    const Image& inverse_sensitivity, const NestedEmSettings& settings) {
  if (coefficients.empty() || coefficients.size() > static_cast<std::size_t>(most_functions))
    throw std::invalid_argument(
        fmt::format("nested EM takes 1 to {} functions, not {}", most_functions, coefficients.size()));
  if (settings.inner < 1) throw std::invalid_argument("nested EM needs at least one inner step");
  if (settings.uniform && !(is_value(*settings.uniform) && *settings.uniform > 0))
    throw std::invalid_argument("nested EM: the uniform image must be finite and positive");
  for (const Image& other : coefficients) detail::require_like("nested EM", coefficients[0], other, "coefficients");
  detail::require_like("nested EM", coefficients[0], inverse_sensitivity, "inverse sensitivity");
  for (const NestedFrame& frame : frames) {
    detail::require_like("nested EM", coefficients[0], frame.back_projection, "back projection");
    if (frame.functions.size() != coefficients.size() || !std::ranges::all_of(frame.functions, is_value))
      throw std::invalid_argument("nested EM: a frame needs a finite value of each function, and none can be negative");
    if (!is_value(frame.time_fraction))
      throw std::invalid_argument("nested EM: a frame's share of the scan time must be finite and not negative");
  }
}

float inverse_norm(std::span<const NestedFrame> frames, std::size_t function) {
  double norm = 0;
  for (const NestedFrame& frame : frames) norm += frame.time_fraction * frame.functions[function];
  if (!(norm > 0)) throw std::invalid_argument("nested EM: a function of time is 0 in all frames");
  return static_cast<float>(1 / norm);
}

}  // namespace

std::int64_t nested_em_update(std::span<Image> coefficients, std::span<const NestedFrame> frames,
                              const Image& inverse_sensitivity, const NestedEmSettings& settings, Stream stream) {
  require_frames(coefficients, frames, inverse_sensitivity, settings);
  std::vector<detail::NestedRow> rows;
  for (const NestedFrame& frame : frames) {
    if (frame.time_fraction == 0) continue;
    detail::NestedRow& row = rows.emplace_back(detail::NestedRow{frame.back_projection.voxels.data(), {}});
    std::ranges::transform(frame.functions, row.functions, [](double value) { return static_cast<float>(value); });
  }
  detail::NestedArrays arrays{.coefficients = {},
                              .rows = rows.data(),
                              .inverse_sensitivity = inverse_sensitivity.voxels.data(),
                              .inverse_norm = {},
                              .uniform = settings.uniform.value_or(0),
                              .count = static_cast<int>(rows.size()),
                              .inner = settings.inner};
  for (std::size_t m = 0; m < coefficients.size(); ++m) {
    arrays.coefficients[m] = coefficients[m].voxels.data();
    arrays.inverse_norm[m] = inverse_norm(frames, m);
  }
  const int functions = static_cast<int>(coefficients.size());
  const std::int64_t voxels = inverse_sensitivity.voxels.size();
  return on_host(inverse_sensitivity.voxels.memory()) ? nested_em_cpu(arrays, functions, voxels)
                                                      : detail::nested_em_cuda(arrays, rows, functions, voxels, stream);
}

Image frame_image(std::span<const Image> coefficients, std::span<const double> functions, Stream stream) {
  if (coefficients.empty() || functions.size() != coefficients.size())
    throw std::invalid_argument("a frame's image needs a value of each coefficient's function");
  Image sum = Image::zeros(coefficients[0].grid, coefficients[0].voxels.memory(), stream);
  for (std::size_t m = 0; m < functions.size(); ++m)
    add_difference(sum, functions[m], coefficients[m], nullptr, stream);
  return sum;
}

#ifndef TOFSTREAM_HAVE_CUDA
std::int64_t detail::nested_em_cuda(NestedArrays, const std::vector<NestedRow>&, int, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
