// What ranks throw that share a pass: with their names, and which of several errors is the cause of the others.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "gadgets/ranks/rank_group.hpp"

namespace tofstream {

/// What `work` throws, with the name of the rank, which is at `where` (empty: not known).
template <class Work>
void naming_rank(int rank, const std::string& where, const Work& work) try {
  work();
} catch (const RankFailed&) {
  throw;  // in words that name it
} catch (const BrokenOff&) {
  throw;
} catch (const std::exception& error) {
  throw std::runtime_error(fmt::format("rank {}{}: {}", rank, where.empty() ? "" : ", on " + where, error.what()));
}

/// The first cause among what several ranks throw: whoever only broke off had none.
class RankErrors {
 public:
  template <class Work>
  void note(const Work& work) {
    try {
      work();
    } catch (const BrokenOff&) {
      broken_off_ = std::current_exception();
    } catch (...) {
      if (!cause_) cause_ = std::current_exception();
    }
  }

  bool only_broke_off() const { return broken_off_ && !cause_; }
  /// Nothing, where nothing was thrown.
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
    if (broken_off_) std::rethrow_exception(broken_off_);
  }

 private:
  std::exception_ptr cause_, broken_off_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
