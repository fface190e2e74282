// Joseph's projector in CUDA, the direct path: one thread an event, the math of joseph_line-inl.hpp, atomic adds in
// back projection. The EM step walks the line twice rather than keep its weights; that of many events goes by tiles
// (joseph_tiled.cu).
#include <algorithm>

#include "kernels/cuda/check.hpp"
#include "kernels/project/device_tally.cuh"
#include "kernels/project/expectation.hpp"
#include "kernels/project/tiled/direct_targets.cuh"
#include "kernels/ring/joseph/joseph_family.cuh"
#include "kernels/ring/joseph/joseph_walk.cuh"

namespace tofstream {

namespace {

using joseph::line_sum;
using joseph::walk;
using single_lane::JosephLine;
using single_lane::JosephLines;
using single_lane::prepare_line;

constexpr int threads_a_block = 128;

template <class Target>
__device__ void add_line(const Grid& grid, const JosephLine& line, float value, const Target& target) {
  walk(grid, line, [&](std::int64_t voxel, float weight) { target.add(voxel, weight * value); });
}

__device__ std::int64_t event_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void forward_kernel(JosephLines lines, const float* image, float* expectation) {
  const std::int64_t i = event_of_thread();
  if (i >= lines.events.count) return;
  expectation[i] = line_sum(lines.setup.grid, prepare_line<float>(lines, i, 1), image);
}

template <class Target>
__global__ void back_kernel(JosephLines lines, const float* values, Target target) {
  const std::int64_t i = event_of_thread();
  if (i >= lines.events.count) return;
  const float value = values ? values[i] : 1.0f;
  if (value != 0) add_line(lines.setup.grid, prepare_line<float>(lines, i, 1), value, target);
}

__global__ void em_kernel(JosephLines lines, const float* image, float* accumulator, DeviceTally* tally) {
  const std::int64_t i = event_of_thread();
  EventRatio event;
  float expectation = 0;
  if (i < lines.events.count) {
    const JosephLine line = prepare_line<float>(lines, i, 1);
    expectation = line_sum(lines.setup.grid, line, image);
    if (lines.events.additive) expectation += lines.events.additive[i];
    event = EventRatio::of(lines.events.counts, i, expectation);
    if (event.ratio > 0) add_line(lines.setup.grid, line, event.ratio, tiled::ImageTarget{accumulator});
  }
  add_tally(event, expectation, tally);
}

/// A launch has fewer than 2^31 blocks: more events than that are cut into several launches.
template <class Launch>
void in_launches(const EventView& events, const Launch& launch) {
  constexpr std::int64_t most = std::int64_t{threads_a_block} << 30;
  for (std::int64_t begin = 0; begin < events.count; begin += most) {
    const std::int64_t count = std::min(most, events.count - begin);
    launch(events.slice(begin, count), begin, static_cast<unsigned>((count + threads_a_block - 1) / threads_a_block));
  }
}

}  // namespace

void JosephFamily::forward(const EventView& events, const float* image, float* expectation, Stream stream) const {
  in_launches(events, [&](const EventView& part, std::int64_t begin, unsigned blocks) {
    forward_kernel<<<blocks, threads_a_block, 0, stream>>>(JosephLines::make(setup_, part), image, expectation + begin);
    check_launch("launch Joseph's forward projection");
  });
}

template <class Target>
void JosephFamily::back(const EventView& events, const float* values, const Target& target, Stream stream) const {
  in_launches(events, [&](const EventView& part, std::int64_t begin, unsigned blocks) {
    back_kernel<<<blocks, threads_a_block, 0, stream>>>(JosephLines::make(setup_, part),
                                                        values ? values + begin : nullptr, target);
    check_launch("launch Joseph's back projection");
  });
}

template void JosephFamily::back(const EventView&, const float*, const tiled::ImageTarget&, Stream) const;
template void JosephFamily::back(const EventView&, const float*, const tiled::BandTarget&, Stream) const;

void JosephFamily::em_step(const EventView& events, const float* image, float* accumulator, DeviceTally* tally,
                           Stream stream) const {
  in_launches(events, [&](const EventView& part, std::int64_t, unsigned blocks) {
    em_kernel<<<blocks, threads_a_block, 0, stream>>>(JosephLines::make(setup_, part), image, accumulator, tally);
    check_launch("launch Joseph's EM step");
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
