// A series of any length in bounded memory: of the past, every 2^n-th entry; when there are too many, every second
// goes.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace tofstream::page {

template <class T>
class EvenSeries {
 public:
  /// At most `most` entries are kept, at least 2.
  explicit EvenSeries(std::size_t most) : most_(most < 2 ? 2 : most) {}

  /// Whether the next entry will be kept: what is costly to make need not be made else.
  bool wants_next() const { return count_ % stride_ == 0; }
  /// The next entry; returns true where it is kept.
  bool add(T entry) {
    const bool wanted = wants_next();
    ++count_;
    if (!wanted) return false;
    entries_.push_back(std::move(entry));
    if (entries_.size() > most_) thin();
    return true;
  }
  /// As add, of an entry that is not there.
  void skip() { ++count_; }

  /// In their order; the first one is always among them.
  const std::deque<T>& entries() const { return entries_; }

 private:
  void thin() {
    std::deque<T> kept;
    for (std::size_t i = 0; i < entries_.size(); i += 2) kept.push_back(std::move(entries_[i]));
    entries_ = std::move(kept);
    stride_ *= 2;
  }

  std::size_t most_;
  std::size_t stride_ = 1;
  std::size_t count_ = 0;
  std::deque<T> entries_;
};

}  // namespace tofstream::page
