// A parallel least-significant-digit radix sort of (key, position) pairs: see order.hpp. Each
// thread counts and scatters a slice of its own, and slices are laid one after another within a
// digit, which keeps the sort stable and its result independent of the number of threads.
#include <algorithm>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "kernels/sort/order.hpp"

namespace tofstream::detail {

namespace {

constexpr int max_digit_bits = 11;                // 2048 open write streams a thread
constexpr std::int64_t smallest_slice = 1 << 14;  // below this a thread costs more than it saves

/// One pass: pairs of `from` into `to` by the digit at `shift`; slices[s] to slices[s + 1] a
/// thread.
class DigitPass {
 public:
  DigitPass(int shift, int digit_bits, std::vector<std::int64_t> slices)
      : shift_(shift),
        digits_(std::size_t{1} << digit_bits),
        slices_(std::move(slices)),
        next_((slices_.size() - 1) * digits_) {}

  void run(const std::uint64_t* from, std::uint64_t* to) {
    each_slice([&](std::int64_t begin, std::int64_t end, std::int64_t* next) {
      for (std::int64_t i = begin; i < end; ++i) ++next[digit(from[i])];
    });
    counts_to_starts();
    each_slice([&](std::int64_t begin, std::int64_t end, std::int64_t* next) {
      for (std::int64_t i = begin; i < end; ++i) to[next[digit(from[i])]++] = from[i];
    });
  }

 private:
  std::size_t digit(std::uint64_t pair) const { return (pair >> shift_) & (digits_ - 1); }

  template <class Work>
  void each_slice(const Work& work) {
    tbb::parallel_for(std::size_t{0}, slices_.size() - 1,
                      [&](std::size_t s) { work(slices_[s], slices_[s + 1], next_.data() + s * digits_); });
  }
  void counts_to_starts() {
    std::int64_t start = 0;
    for (std::size_t d = 0; d < digits_; ++d) {
      for (std::size_t s = 0; s + 1 < slices_.size(); ++s) {
        start += std::exchange(next_[s * digits_ + d], start);
      }
    }
  }

  int shift_;
  std::size_t digits_;
  std::vector<std::int64_t> slices_;
  std::vector<std::int64_t> next_;  // first counts, then where each slice writes its next of a digit
};

std::vector<std::int64_t> cut_into_slices(std::int64_t count) {
  const std::int64_t slices =
      std::clamp<std::int64_t>(count / smallest_slice, 1, tbb::this_task_arena::max_concurrency());
  std::vector<std::int64_t> cuts;
  for (std::int64_t s = 0; s <= slices; ++s) cuts.push_back(count * s / slices);
  return cuts;
}

template <class Visit>
void for_each_position(std::int64_t count, const Visit& visit) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, smallest_slice), [&](const auto& range) {
    for (std::int64_t i = range.begin(); i < range.end(); ++i) visit(i);
  });
}

}  // namespace

template <class Key>
SortedOrder sorted_order_cpu(std::int64_t count, const Key& key, int bits,
                             const std::vector<std::uint32_t>& thresholds) {
  Buffer<std::uint64_t> pairs(Memory::host, count);
  for_each_position(count,
                    [&](std::int64_t i) { pairs[i] = std::uint64_t{key(i)} << 32 | static_cast<std::uint64_t>(i); });
  {
    Buffer<std::uint64_t> other(Memory::host, count);
    const std::vector<std::int64_t> slices = cut_into_slices(count);
    const int passes = (bits + max_digit_bits - 1) / max_digit_bits;
    const int digit_bits = (bits + passes - 1) / std::max(passes, 1);
    for (int pass = 0; pass < passes; ++pass) {
      DigitPass(32 + pass * digit_bits, digit_bits, slices).run(pairs.data(), other.data());
      std::swap(pairs, other);
    }
  }
  SortedOrder result{Buffer<std::uint32_t>(Memory::host, count), {}};
  for_each_position(count, [&](std::int64_t i) { result.order[i] = static_cast<std::uint32_t>(pairs[i]); });
  const auto sorted = pairs.span();
  for (const std::uint32_t threshold : thresholds)
    result.bounds.push_back(std::ranges::lower_bound(sorted, std::uint64_t{threshold} << 32) - sorted.begin());
  return result;
}

template SortedOrder sorted_order_cpu(std::int64_t, const EventKey&, int, const std::vector<std::uint32_t>&);
template SortedOrder sorted_order_cpu(std::int64_t, const PieceKey&, int, const std::vector<std::uint32_t>&);

void gather_cpu(const std::uint32_t* from, const std::uint32_t* order, std::int64_t count, std::uint32_t* to) {
  for_each_position(count, [&](std::int64_t k) { to[k] = from[order[k]]; });
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
