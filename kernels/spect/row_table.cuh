// Pairs of row and voxel along z, as lists of each row's voxels or of each voxel's rows on the device.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

/// Taps of rows [first, first + count), counted from there.
inline std::vector<RowTap> taps_from(int first, int count, std::vector<RowTap> taps) {
  std::erase_if(taps, [&](const RowTap& tap) { return tap.row < first || tap.row >= first + count; });
  for (RowTap& tap : taps) tap.row -= first;
  return taps;
}

/// A list of entries of each item on the device.
class RowTable {
 public:
  /// `item` and `of` say which of a tap's two numbers is which.
  RowTable(std::vector<RowTap> taps, int items, std::int32_t RowTap::*item, std::int32_t RowTap::*of) {
    std::ranges::stable_sort(taps, {}, item);
    std::vector<std::int32_t> begin(static_cast<std::size_t>(items) + 1), which;
    std::vector<float> weight;
    for (const RowTap& tap : taps) {
      ++begin[static_cast<std::size_t>(tap.*item) + 1];
      which.push_back(tap.*of);
      weight.push_back(tap.weight);
    }
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    begin_ = Buffer<std::int32_t>::from(begin).to(Memory::device);
    of_ = Buffer<std::int32_t>::from(which).to(Memory::device);
    weight_ = Buffer<float>::from(weight).to(Memory::device);
  }
  DeviceRows rows() const { return {begin_.data(), of_.data(), weight_.data()}; }

 private:
  Buffer<std::int32_t> begin_, of_;
  Buffer<float> weight_;
};

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
