// When an image is at rest: see rest.hpp.
#include "gadgets/update/rest.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "gadgets/update/step_words.hpp"
#include "kernels/em/relative_change.hpp"

namespace tofstream {
namespace {

constexpr auto* kept_below = "updates_of_little_change";
constexpr auto* kept_rest = "at_rest";

}  // namespace

bool was_at_rest(const std::map<std::string, double>& kept) {
  const auto found = kept.find(kept_rest);
  return found != kept.end() && found->second > 0;
}

void RestRule::resume(const std::map<std::string, double>& kept) {
  if (settings_ == StopParams{}) return;
  if (const auto found = kept.find(kept_below); found != kept.end()) below_ = static_cast<int>(found->second);
  is_at_rest_ = was_at_rest(kept);
}

void RestRule::keep(std::map<std::string, double>& kept) const {
  if (settings_ == StopParams{}) return;
  kept[kept_below] = below_;
  kept[kept_rest] = is_at_rest_ ? 1 : 0;
}

void RestRule::note(const std::shared_ptr<const Image>& before, const std::shared_ptr<const Image>& after,
                    const UpdateStep& step, Context& context) {
  if (settings_ == StopParams{} || step.subsets == 0) return;
  if (before != after) {
    const double change = relative_change(*before, *after);
    context.report("relative_change", change);
    below_ = change < settings_.relative_change ? std::min(below_ + 1, settings_.over) : 0;
  }
  if (below_ < settings_.over || !step.ends_iteration) return;
  is_at_rest_ = true;
  if (step.iteration < step.iterations) say(step, context);
}

void RestRule::say(const UpdateStep& step, Context& context) const {
  const std::string words = fmt::format("{}: each of the last {} updates changed the estimate by less than {:g}",
                                        in_words(step), settings_.over, settings_.relative_change);
  context.log().info(fmt::format("at rest after {}", words));
  context.report("stopped_because", words);
  context.append("stopped_at_update", static_cast<double>(step.update));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
