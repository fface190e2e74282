// The TOR projector on CUDA (Cui et al. 2011, II.B), the direct path: a group of lanes takes an event, each lane its
// slices; voxels of the ellipse are read from global memory and added to by atomics. The EM step of many events goes by
// tiles (tor_tiled.cu).
#include <algorithm>

#include <cuda_runtime.h>

#include "kernels/cuda/check.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/expectation.hpp"
#include "kernels/project/tiled/direct_targets.cuh"
#include "kernels/ring/tor/section_sum.hpp"
#include "kernels/ring/tor/tor_family.cuh"
#include "kernels/ring/tor/weight-inl.hpp"

namespace tofstream::tor {

namespace {

constexpr int group_lanes = 8;  // of one event, which has many more slices
constexpr int block_threads = 128;

/// A thread's event, and which lane of its group it is.
struct Place {
  std::int64_t event;
  int lane;
};
__device__ Place place() {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  return {thread / group_lanes, static_cast<int>(thread % group_lanes)};
}

/// The factor by which Normalise::slice scales the weights of a slice that the line crosses p_offset from a column, in
/// row q.
template <class Weight>
__device__ float slice_factor_at(const Weight& weight, const Tube& tube, float p_offset, double q) {
  const auto q_offset = static_cast<float>(q - rint(q));
  return slice_factor(section_sum(tube, p_offset, q_offset,
                                  [&](float a, float b) { return weight.radial(weight.distance2(a, b), 0.0f); }));
}

/// Calls visit(voxel, weight) for the voxels of every group_lanes-th slice of the tube from the lane on.
template <bool gaussian, class Visit>
__device__ void for_each_voxel(const Pass& pass, const Tube& tube, const float* table, Place at, Visit&& visit) {
  const single_lane::TubeWeight<float, gaussian> weight(pass, tube, pass.events.bin_width_mm(at.event), table);
  const Grid& grid = pass.model.grid;
  const std::int64_t p_stride = grid.stride(tube.axes.p), q_stride = grid.stride(tube.axes.q);
  const int columns = grid.size[tube.axes.p], rows = grid.size[tube.axes.q];
  for (int k = tube.first + at.lane; k <= tube.last; k += group_lanes) {
    const double p = tube.p0 + k * tube.p_step, q = tube.q0 + k * tube.q_step;
    const auto u = static_cast<float>(tube.u0 + k * tube.u_step);
    const int q_first = max(static_cast<int>(ceil(q - tube.q_half)), 0);
    const int q_last = min(static_cast<int>(floor(q + tube.q_half)), rows - 1);
    // The nearest column and the line's offset from it keep the distances small, so exact in float.
    const int p_near = static_cast<int>(rint(p));
    const auto p_offset = static_cast<float>(p - p_near);
    const float of_slice = pass.model.by_slice ? slice_factor_at(weight, tube, p_offset, q) : 1.0f;
    for (int row = q_first; row <= q_last; ++row) {
      const auto b = static_cast<float>(row - q);
      const auto reach = tube.columns_of_rows(b, b);
      const int a_first = max(static_cast<int>(ceilf(p_offset + reach.first)), -p_near);
      const int a_last = min(static_cast<int>(floorf(p_offset + reach.last)), columns - 1 - p_near);
      const std::int64_t row_begin = k * grid.stride(tube.axes.slice) + row * q_stride + p_near * p_stride;
      for (int a = a_first; a <= a_last; ++a)
        visit(row_begin + a * p_stride, of_slice * weight(static_cast<float>(a) - p_offset, b, u));
    }
  }
}

/// The sum over the lanes of a group, in each of them.
__device__ float group_sum(float value) {
  for (int offset = group_lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <bool gaussian>
__device__ float expectation_of(const Pass& pass, const Tube& tube, const float* table, const float* image, Place at) {
  float sum = 0;
  if (at.event < pass.events.count)
    for_each_voxel<gaussian>(pass, tube, table, at,
                             [&](std::int64_t voxel, float weight) { sum += weight * __ldg(image + voxel); });
  return group_sum(sum);
}

template <bool gaussian, class Target>
__device__ void add_along(const Pass& pass, const Tube& tube, const float* table, float value, const Target& target,
                          Place at) {
  for_each_voxel<gaussian>(pass, tube, table, at, [&](std::int64_t voxel, float weight) {
    if (weight > 0) target.add(voxel, value * weight);
  });
}

/// The passes of an image's lattices, whose values follow one another in memory.
template <int lattices>
struct Passes {
  Pass of[lattices];
};

/// `adds`: adds to what another lattice has left there.
template <bool gaussian>
__global__ void forward_kernel(Pass pass, const float* table, const float* image, float* expectation, bool adds) {
  const Place at = place();
  const Tube tube = at.event < pass.events.count ? pass.tube(at.event) : Tube{};
  const float sum = expectation_of<gaussian>(pass, tube, table, image, at);
  if (at.event >= pass.events.count || at.lane != 0) return;
  expectation[at.event] = sum * pass.scale(at.event, tube) + (adds ? expectation[at.event] : 0.0f);
}

template <bool gaussian, class Target>
__global__ void back_kernel(Pass pass, const float* table, const float* values, Target target) {
  const Place at = place();
  if (at.event >= pass.events.count) return;
  const Tube tube = pass.tube(at.event);
  const float value = pass.scale(at.event, tube) * (values ? values[at.event] : 1.0f);
  add_along<gaussian>(pass, tube, table, value, target, at);
}

template <bool gaussian, int lattices>
__global__ void em_kernel(Passes<lattices> passes, const float* table, const float* image, float* accumulator,
                          DeviceTally* tally) {
  const Place at = place();
  const Pass& first_pass = passes.of[0];
  const bool inside = at.event < first_pass.events.count;
  const std::int64_t voxels = first_pass.model.grid.voxels();
  Tube tubes[lattices];
  float sum = 0;
#pragma unroll
  for (int l = 0; l < lattices; ++l) {
    if (inside) tubes[l] = passes.of[l].tube(at.event);
    sum += expectation_of<gaussian>(passes.of[l], tubes[l], table, image + l * voxels, at);
  }
  const float scale = inside ? first_pass.scale(at.event, tubes[0]) : 0.0f;
  const float additive = inside && first_pass.events.additive ? first_pass.events.additive[at.event] : 0.0f;
  const float expectation = scale * sum + additive;
  const EventRatio event =
      inside ? EventRatio::of(first_pass.events.counts, at.event, expectation, scale) : EventRatio{};
  add_tally(at.lane == 0 ? event : EventRatio{}, expectation, tally);
  if (!(event.ratio > 0)) return;
#pragma unroll
  for (int l = 0; l < lattices; ++l)
    add_along<gaussian>(passes.of[l], tubes[l], table, event.ratio, tiled::ImageTarget{accumulator + l * voxels}, at);
}

}  // namespace

TorFamily::TorFamily(const Grid& grid, const std::vector<Model>& lattices, const RadialResponse& response)
    : grid_(grid),
      lattices_(lattices),
      table_(Buffer<float>::from(response.values()).to(Memory::device)),
      table_peak_(*std::max_element(response.values().begin(), response.values().end())) {}

template <class Kernel>
void TorFamily::launch(const EventView& events, const Kernel& kernel) const {
  if (events.count == 0) return;
  constexpr std::int64_t events_a_block = block_threads / group_lanes;
  const std::int64_t blocks = (events.count + events_a_block - 1) / events_a_block;
  if (blocks > 0x7fffffff) throw std::invalid_argument("TOR projector: more than 3e10 events in one batch: cut it");
  if (lattices_[0].gaussian)
    kernel(std::true_type(), static_cast<unsigned>(blocks));
  else
    kernel(std::false_type(), static_cast<unsigned>(blocks));
}

void TorFamily::forward(const EventView& events, const float* image, float* expectation, Stream stream) const {
  launch(events, [&](auto gaussian, unsigned blocks) {
    for (std::size_t l = 0; l < lattices_.size(); ++l) {
      forward_kernel<gaussian()><<<blocks, block_threads, 0, stream>>>(make_pass(lattices_[l], events), table_.data(),
                                                                       image + first_voxel(l), expectation, l > 0);
      check_launch("project events forward");
    }
  });
}

template <class Target>
void TorFamily::back(const EventView& events, const float* values, const Target& target, Stream stream) const {
  launch(events, [&](auto gaussian, unsigned blocks) {
    for (std::size_t l = 0; l < lattices_.size(); ++l) {
      back_kernel<gaussian()><<<blocks, block_threads, 0, stream>>>(make_pass(lattices_[l], events), table_.data(),
                                                                    values, target.from(first_voxel(l)));
      check_launch("project events back");
    }
  });
}

template void TorFamily::back(const EventView&, const float*, const tiled::ImageTarget&, Stream) const;
template void TorFamily::back(const EventView&, const float*, const tiled::BandTarget&, Stream) const;

void TorFamily::em_step(const EventView& events, const float* image, float* accumulator, DeviceTally* tally,
                        Stream stream) const {
  launch(events, [&](auto gaussian, unsigned blocks) {
    const Pass pass = make_pass(lattices_[0], events);
    if (lattices_.size() == 1) {
      em_kernel<gaussian(), 1>
          <<<blocks, block_threads, 0, stream>>>(Passes<1>{{pass}}, table_.data(), image, accumulator, tally);
    } else {
      em_kernel<false, 2><<<blocks, block_threads, 0, stream>>>(Passes<2>{{pass, make_pass(lattices_[1], events)}},
                                                                table_.data(), image, accumulator, tally);
    }
    check_launch("step EM");
  });
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
