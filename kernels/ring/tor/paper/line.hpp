// One event as Cui et al.'s scheme keeps it for all iterations: its tube (tube.hpp) in single precision, 17 words, laid
// out as a structure of arrays or as an array of structures (II.B.1). Shared by host and device.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/ring/tor/tube.hpp"

namespace tofstream::tor::paper {

/// The slices [first, end) across `axis` that a line's tube may meet.
struct SliceSpan {
  int axis = 0, first = 0, end = 0;

  static constexpr int bits = 13;  // a grid has at most 4096 slices
  TOFSTREAM_HOST_DEVICE constexpr std::uint32_t packed() const {
    return static_cast<std::uint32_t>((axis << 2 * bits) | (first << bits) | end);
  }
  TOFSTREAM_HOST_DEVICE static constexpr SliceSpan unpacked(std::uint32_t word) {
    constexpr std::uint32_t mask = (1u << bits) - 1;
    return {static_cast<int>(word >> 2 * bits), static_cast<int>((word >> bits) & mask), static_cast<int>(word & mask)};
  }
  TOFSTREAM_HOST_DEVICE constexpr bool has(int slice_axis, int slice) const {
    return axis == slice_axis && slice >= first && slice < end;
  }
};

/// Where a line crosses a slice: column p and row q (voxels), u mm from the ToF centre.
struct Crossing {
  float p, q, u;
};

/// A line as a thread works on it. `tube` has only the half extents and what a voxel's weight needs.
struct Line {
  SliceSpan slices;
  Crossing start, step;  // at the first slice, and from one to the next
  Tube tube;

  TOFSTREAM_HOST_DEVICE Crossing crossing(int slice) const {
    const auto n = static_cast<float>(slice - slices.first);
    return {mul_add(n, step.p, start.p), mul_add(n, step.q, start.q), mul_add(n, step.u, start.u)};
  }
};

/// The lines of a batch in memory.
class Lines {
 public:
  static constexpr int words_a_line = 17;

  Lines() = default;
  /// `words`: count * words_a_line, kept by the caller.
  Lines(std::uint32_t* words, std::int64_t count, bool structure_of_arrays)
      : words_(words),
        count_(count),
        line_stride_(structure_of_arrays ? 1 : words_a_line),
        word_stride_(structure_of_arrays ? count : 1) {}

  TOFSTREAM_HOST_DEVICE std::int64_t count() const { return count_; }
  TOFSTREAM_HOST_DEVICE SliceSpan slices(std::int64_t i) const {
    return SliceSpan::unpacked(words_[i * line_stride_ + slices_word * word_stride_]);
  }
  /// What each weight of line i is to be multiplied by (Pass::scale).
  TOFSTREAM_HOST_DEVICE float scale(std::int64_t i) const { return number(i, scale_word); }

  TOFSTREAM_HOST_DEVICE Line line(std::int64_t i, SliceSpan slices) const {
    Line line{slices, crossing(i, 1), crossing(i, 4), {}};
    line.tube.p_half = number(i, 7);
    line.tube.q_half = number(i, 8);
    line.tube.pp = number(i, 9);
    line.tube.pq = number(i, 10);
    line.tube.qq = number(i, 11);
    line.tube.p_along = number(i, 12);
    line.tube.q_along = number(i, 13);
    line.tube.u_low = number(i, 14);
    line.tube.u_high = number(i, 15);
    return line;
  }

  TOFSTREAM_HOST_DEVICE void store(std::int64_t i, const Tube& tube, float scale) const {
    const SliceSpan slices{tube.axes.slice, tube.empty() ? 0 : tube.first, tube.empty() ? 0 : tube.last + 1};
    words_[i * line_stride_ + slices_word * word_stride_] = slices.packed();
    const double k = slices.first;
    const double numbers[] = {tube.p0 + k * tube.p_step,
                              tube.q0 + k * tube.q_step,
                              tube.u0 + k * tube.u_step,
                              tube.p_step,
                              tube.q_step,
                              tube.u_step,
                              tube.p_half,
                              tube.q_half,
                              tube.pp,
                              tube.pq,
                              tube.qq,
                              tube.p_along,
                              tube.q_along,
                              tube.u_low,
                              tube.u_high,
                              scale};
    static_assert(sizeof numbers / sizeof numbers[0] == words_a_line - 1);
    for (int w = 1; w < words_a_line; ++w)
      words_[i * line_stride_ + w * word_stride_] = std::bit_cast<std::uint32_t>(static_cast<float>(numbers[w - 1]));
  }

 private:
  static constexpr int slices_word = 0, scale_word = 16;

  TOFSTREAM_HOST_DEVICE float number(std::int64_t i, int word) const {
    return std::bit_cast<float>(words_[i * line_stride_ + word * word_stride_]);
  }
  TOFSTREAM_HOST_DEVICE Crossing crossing(std::int64_t i, int word) const {
    return {number(i, word), number(i, word + 1), number(i, word + 2)};
  }

  std::uint32_t* words_ = nullptr;
  std::int64_t count_ = 0, line_stride_ = 0, word_stride_ = 0;
};

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
