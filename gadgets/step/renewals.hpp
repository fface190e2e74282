// When terms that are made of the estimate are made anew: at the beginning of given iterations, and in a live stream
// after given times of the scan; there they may take their place later, so that they can be made beside the updates. By the
// data alone, so that a replay renews where the run did.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/payloads.hpp"

namespace tofstream {

class Renewals {
 public:
  /// `every_s`: of the scan time of a live stream; 0: not while it lasts. `within_s`: after as much more of it what was
  /// begun is in place. Throws std::invalid_argument for iterations before the second, and for more than every_s.
  explicit Renewals(std::vector<int> at_iterations, double every_s = 0, double within_s = 0)
      : at_(std::move(at_iterations)), every_s_(every_s), within_s_(within_s), due_s_(every_s) {
    if (within_s > every_s && every_s > 0)
      throw std::invalid_argument(
          fmt::format("within_s is {:g} s, and must not be more than every_s, {:g} s: the next "
                      "one begins when the one before is in place",
                      within_s, every_s));
    if (at_.empty() || first() < 2)
      throw std::invalid_argument(
          "at_iterations: give at least one, from 2 on: there is no image of the data before the first has ended");
  }

  void begin_anew() {
    made_at_ = 0;
    due_s_ = every_s_;
    place_s_.reset();
  }
  /// A run goes on from one that had made terms last for this iteration.
  void go_on(int made_at) { made_at_ = made_at; }
  /// When, in scan time, terms of a live stream are due next, and when what was begun is in place; none: nothing was.
  struct Times {
    double due_s = 0;
    std::optional<double> place_s = {};
  };
  Times times() const { return {due_s_, place_s_}; }
  /// A live run goes on from one with these.
  void go_on(const Times& times) {
    due_s_ = times.due_s;
    place_s_ = times.place_s;
  }
  /// Whether a subset is to meet terms of the estimate that it meets. `has_terms`: there are some already.
  /// `scan_s`: the scan time up to the end of its data.
  bool are_due(const UpdateStep& step, bool has_terms, double scan_s = 0) {
    if (step.iteration == 0) return false;
    // The updates of a live stream go over its subsets again while it lasts, so iterations come and go there, and the
    // first ones are of an image of seconds.
    if (step.subsets == 0) return every_s_ > 0 && is_time(scan_s);
    const bool is_listed = step.iteration > made_at_ && std::ranges::find(at_, step.iteration) != at_.end();
    if (is_listed) made_at_ = step.iteration;
    // A run that goes on within an iteration may have none of the terms that it had.
    return is_listed || (!has_terms && step.iteration >= first());
  }

  /// Whether, in a live stream, what became due some time ago takes its place with this subset. Ask before are_due().
  bool are_in_place(const UpdateStep& step, double scan_s) {
    if (step.subsets != 0 || !place_s_ || scan_s < *place_s_) return false;
    place_s_.reset();
    return true;
  }
  /// Whether what is due in a live stream takes its place later.
  bool are_made_beside(const UpdateStep& step) const { return step.subsets == 0 && within_s_ > 0; }

  int first() const { return at_.empty() ? 0 : std::ranges::min(at_); }
  /// "iteration 2 and before 10 s of the scan"
  std::string first_time() const {
    const std::string iteration = fmt::format("iteration {}", first());
    return every_s_ > 0 ? fmt::format("{} and before {:g} s of the scan", iteration, every_s_ + within_s_) : iteration;
  }

 private:
  bool is_time(double scan_s) {
    if (scan_s < due_s_) return false;
    due_s_ = scan_s + every_s_;
    if (within_s_ > 0) place_s_ = scan_s + within_s_;
    return true;
  }

  std::vector<int> at_;
  double every_s_, within_s_, due_s_;
  std::optional<double> place_s_;  // scan time at which what was begun is in place
  int made_at_ = 0;                // the last of the listed iterations
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
