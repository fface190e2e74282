// Partition, sort and layout of lines: see plan.cuh.
#include <limits>
#include <stdexcept>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/ring/tor/paper/plan.cuh"
#include "kernels/sort/order.hpp"

namespace tofstream::tor::paper {

namespace {

constexpr int centre_bits = 30;  // of a key, below the axis

/// The slice in which the ToF centre lies, in steps of 2^-16 and clamped to 8192 slices about the first.
__device__ std::uint32_t centre_of(const Tube& tube) {
  const double slice = -tube.u0 / tube.u_step;
  return static_cast<std::uint32_t>((fmin(fmax(slice, -8191.0), 8191.0) + 8192.0) * 65536.0);
}

/// A key is the axis of the line's tube, which decides by itself what its slices are, above the ToF centre if sorted.
__global__ void make_keys(const __grid_constant__ Pass pass, bool sort, std::uint32_t* keys) {
  const std::int64_t i = elementwise::element();
  if (i >= pass.events.count) return;
  const Tube tube = pass.tube(i);
  const auto axis = static_cast<std::uint32_t>(tube.axes.slice);
  keys[i] = sort ? axis << centre_bits | (tube.empty() ? 0u : centre_of(tube)) : axis;
}

__global__ void make_lines(const __grid_constant__ Pass pass, const std::uint32_t* order, Lines lines) {
  const std::int64_t i = elementwise::element();
  if (i >= lines.count()) return;
  const std::int64_t event = order ? order[i] : i;
  const Tube tube = pass.tube(event);
  lines.store(i, tube, pass.scale(event, tube));
}

}  // namespace

LinePlan::LinePlan(const Pass& pass, const PaperScheme& scheme, Stream stream) : count_(pass.events.count) {
  if (count_ > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("the paper's scheme takes at most 4294967295 events, not " + std::to_string(count_) +
                            ": use more subsets");
  words_ = Buffer<std::uint32_t>(Memory::device, count_ * Lines::words_a_line, stream);
  lines_ = Lines(words_.data(), count_, scheme.structure_of_arrays);
  if (count_ == 0) return;
  if (scheme.partition) partition(pass, scheme.sort && pass.events.has_tof(), stream);
  make_lines<<<elementwise::blocks(count_), elementwise::threads, 0, stream>>>(pass, order(), lines_);
  check_launch("lay out lines");
}

void LinePlan::partition(const Pass& pass, bool sort, Stream stream) {
  Buffer<std::uint32_t> keys(Memory::device, count_, stream);
  make_keys<<<elementwise::blocks(count_), elementwise::threads, 0, stream>>>(pass, sort, keys.data());
  check_launch("make keys of lines");
  const int shift = sort ? centre_bits : 0;
  tofstream::detail::SortedOrder sorted = tofstream::detail::sorted_order_cuda(
      count_, tofstream::detail::GivenKey{keys.data()}, shift + 2, {0u, 1u << shift, 2u << shift}, stream);
  order_ = std::move(sorted.order);
  for (std::size_t axis = 0; axis < 3; ++axis) axis_begin_[axis] = sorted.bounds[axis];
  axis_begin_[3] = count_;
}

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
