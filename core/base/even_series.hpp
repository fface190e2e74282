// A series of any length in bounded memory, with entries at least an interval apart. When there are too many, every
// second one is dropped and the interval doubles, so that what is left is spread evenly.
#pragma once
#include <cstddef>
#include <deque>
#include <utility>

namespace tofstream {

template <class T>
class EvenSeries {
 public:
  // Keeps at most `most` entries, at least 2. Positions, in any unit, never decrease.
  explicit EvenSeries(std::size_t most, double interval = 1)
      : most_(most < 2 ? 2 : most - most % 2), interval_(interval) {}

  // An entry at this position or beyond is kept.
  double due() const { return due_; }
  // Whether an entry at this position will be kept, so that the caller need not make one in vain.
  bool wants(double at) const { return entries_.empty() || at >= due_; }
  // Adds an entry; returns false, and leaves it out, if it is not due.
  bool add(double at, T entry) {
    if (!wants(at)) return false;
    entries_.push_back(std::move(entry));
    if (entries_.size() > most_) thin();
    due_ = at + interval_;
    return true;
  }

  // In the order of their positions; the very first entry is always among them.
  const std::deque<T>& entries() const { return entries_; }

 private:
  // Drops every second entry. The newest of an odd number stays, since due() depends on it.
  void thin() {
    std::deque<T> kept;
    for (std::size_t i = 0; i < entries_.size(); i += 2) kept.push_back(std::move(entries_[i]));
    entries_ = std::move(kept);
    interval_ *= 2;
  }

  std::size_t most_;
  double interval_;
  double due_ = 0;
  std::deque<T> entries_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
