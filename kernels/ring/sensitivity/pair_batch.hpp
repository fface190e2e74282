// The draws from a list of pairs that a projector is given at a time, without those that add nothing. Internal to the
// sensitivity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream::detail {

class PairBatch {
 public:
  /// Room for as many pairs in the given memory.
  PairBatch(std::int64_t capacity, Memory memory, Stream stream);

  /// Takes those of the draws [begin, end) that add something, in their order; at most as many draws as there is room
  /// for. The list must lie in this memory. Complete on return.
  void draw(const PairDraws& draws, std::int64_t begin, std::int64_t end);

  std::int64_t count() const { return count_; }
  /// As non-ToF events.
  EventView events(const Detector* detectors) const;
  float* values() { return values_.data(); }  // of the pairs: what each adds for a mm of its line

 private:
  void draw_cpu(const PairDraws& draws, std::int64_t begin, std::int64_t end);
  void draw_cuda(const PairDraws& draws, std::int64_t begin, std::int64_t end);

  Memory memory_;
  [[maybe_unused]] Stream stream_;  // on CUDA alone
  std::int64_t count_ = 0;
  Buffer<std::uint32_t> detector1_, detector2_;
  Buffer<float> values_;
  Buffer<std::byte> scratch_;  // of the device's selection
  Buffer<std::int64_t> selected_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
