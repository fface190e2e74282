#include "core/report/parameter_history.hpp"

#include <algorithm>
#include <utility>

namespace tofstream {

void ParameterHistory::add(ParameterChange change) {
  join_or_append(std::move(change));
  constexpr auto longest = std::chrono::hours(24 * 365);  // one entry a parameter by then
  while (changes_.size() > most_ && interval_ < longest) {
    interval_ *= 2;
    for (ParameterChange& each : std::exchange(changes_, {})) join_or_append(std::move(each));
  }
}

void ParameterHistory::join_or_append(ParameterChange change) {
  const auto before = std::find_if(changes_.rbegin(), changes_.rend(), [&](const ParameterChange& other) {
    return other.parameter == change.parameter && other.gadget == change.gadget;
  });
  if (before == changes_.rend() || change.when - before->first >= interval_) {
    changes_.push_back(std::move(change));
    return;
  }
  before->when = change.when;
  before->value = std::move(change.value);
  before->joined += change.joined + 1;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
