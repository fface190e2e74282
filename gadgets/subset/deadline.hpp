// A limit on latency: compares latencies with it, and says what is given up, step by step, where they exceed it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/value/params.hpp"

namespace tofstream {

/// What a live reconstruction can give up.
enum class Degrade { no_idle_iterations, larger_subsets };
constexpr auto enum_names(Degrade) {
  return names(Degrade::no_idle_iterations, "no_idle_iterations", Degrade::larger_subsets, "larger_subsets");
}

class Deadline {
 public:
  /// `limit_ms` 0: no limit. `steps` are taken one after the other, each in addition to those before.
  Deadline(double limit_ms, std::vector<Degrade> steps) : limit_ms_(limit_ms), steps_(std::move(steps)) {}

  bool is_given_up(Degrade what) const {
    return std::find(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(taken_), what) !=
           steps_.begin() + static_cast<std::ptrdiff_t>(taken_);
  }
  std::size_t missed() const { return missed_; }

  /// Notes that an update with new events came `latency_ms` after the last of them. Returns the change that follows, in
  /// words; nothing if none does. A step is taken back after `calm` latencies in a row below half the limit; each time
  /// that this was too early, that number doubles.
  std::optional<std::string> note(double latency_ms) {
    if (!(limit_ms_ > 0)) return std::nullopt;
    if (latency_ms > limit_ms_) return miss(latency_ms);
    met_in_a_row_ = latency_ms < 0.5 * limit_ms_ ? met_in_a_row_ + 1 : 0;
    if (taken_ == 0 || met_in_a_row_ < calm_) return std::nullopt;
    met_in_a_row_ = 0;
    has_recovered_ = true;
    return fmt::format("{} again: {:.0f} ms is well below the deadline of {:.0f} ms", words(steps_[--taken_], false),
                       latency_ms, limit_ms_);
  }

 private:
  std::optional<std::string> miss(double latency_ms) {
    ++missed_;
    met_in_a_row_ = 0;
    if (taken_ == steps_.size()) return std::nullopt;
    constexpr std::size_t longest = 1024;
    if (std::exchange(has_recovered_, false)) calm_ = std::min(2 * calm_, longest);
    return fmt::format("{}: {:.0f} ms is over the deadline of {:.0f} ms", words(steps_[taken_++], true), latency_ms,
                       limit_ms_);
  }

  static const char* words(Degrade step, bool given_up) {
    if (step == Degrade::no_idle_iterations) return given_up ? "no idle iterations" : "idle iterations";
    return given_up ? "larger subsets" : "subsets as they come";
  }

  double limit_ms_;
  std::vector<Degrade> steps_;
  std::size_t taken_ = 0;  // of the steps
  std::size_t missed_ = 0, met_in_a_row_ = 0, calm_ = 8;
  bool has_recovered_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
