// When terms that are made of the estimate are made anew: at the beginning of given iterations, and in a live stream
// after given times of the scan. By the data alone, so that a replay renews where the run did.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/payloads.hpp"

namespace tofstream {

class Renewals {
 public:
  /// `every_s`: of the scan time of a live stream; 0: not before it has ended. Throws std::invalid_argument for
  /// iterations before the second.
  explicit Renewals(std::vector<int> at_iterations, double every_s = 0)
      : at_(std::move(at_iterations)), every_s_(every_s), due_s_(every_s) {
    if (at_.empty() || first() < 2)
      throw std::invalid_argument(
          "at_iterations: give at least one, from 2 on: there is no image of the data before the first has ended");
  }

  void begin_anew() {
    iteration_ = 0;
    due_s_ = every_s_;
  }
  /// Whether a subset is to meet terms of the estimate that it meets. `has_terms`: there are some already.
  /// `scan_s`: the scan time up to the end of its data.
  bool are_due(const UpdateStep& step, bool has_terms, double scan_s = 0) {
    if (step.iteration == 0) return false;
    const bool is_new_iteration = step.iteration != std::exchange(iteration_, step.iteration);
    if (is_new_iteration && std::ranges::find(at_, iteration_) != at_.end()) return true;
    // A run that was resumed within an iteration has none of the terms that it had.
    if (!has_terms && iteration_ >= first()) return true;
    if (every_s_ == 0 || step.subsets > 0 || scan_s < due_s_) return false;
    due_s_ = scan_s + every_s_;
    return true;
  }

  int first() const { return at_.empty() ? 0 : std::ranges::min(at_); }
  /// "iteration 2 and before 10 s of the scan"
  std::string first_time() const {
    const std::string iteration = fmt::format("iteration {}", first());
    return every_s_ > 0 ? fmt::format("{} and before {:g} s of the scan", iteration, every_s_) : iteration;
  }

 private:
  std::vector<int> at_;
  double every_s_, due_s_;
  int iteration_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
