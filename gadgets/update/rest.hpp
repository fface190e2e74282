// When a reconstruction ends before its last iteration: once its updates have come to rest. The update marks its
// estimate (Estimate::is_at_rest), and the projector then passes the further subsets of the same image by. So no gadget
// that hands out subsets, no record of their order and no journal need know of it.
#pragma once

#include <map>
#include <string>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// `stop: {relative_change: 0.001, over: 5}`, `stop: never`
struct StopParams {
  double relative_change = 0;  // 0: never
  int over = 5;
  bool operator==(const StopParams&) const = default;
  static constexpr auto default_word = "never";
  static constexpr auto params = describe(
      param<&StopParams::relative_change>("relative_change", required, Limits{.lo = 0, .hi = 1, .open_lo = true},
                                          "An update counts where it changes the estimate by less than this: the norm "
                                          "of the difference over the norm of "
                                          "the estimate before it"),
      param<&StopParams::over>("over", range(1, 1'000'000),
                               "So many updates in a row must do so; the iteration in which they do is the last one"));
};

inline constexpr auto* stop_words =
    "End before the last iteration, once updates change little. Subsets of few data keep the image moving, and small "
    "steps are small changes: see `tofstream docs priors`. Of a live stream in the passes of final: offline";

/// Whether a checkpoint says that its image is at rest.
bool was_at_rest(const std::map<std::string, double>& kept);

/// Follows the updates of an image. A pass over all data is what it counts in: not updates of a live stream that has
/// not ended, nor of a first pass of which nobody knows how many subsets it will have.
class RestRule {
 public:
  explicit RestRule(const StopParams& settings) : settings_(settings) {}

  /// As a checkpoint holds it: see keep().
  void resume(const std::map<std::string, double>& kept);
  /// Another image, of which nothing is known.
  void begin_anew() { below_ = 0, is_at_rest_ = false; }
  /// Takes note of an update. Where it left the image as it was by design, as in a pass for an anchor, both are one
  /// object, and it does not count. Reports `relative_change`, and what ends the reconstruction, to run.json.
  void note(const std::shared_ptr<const Image>& before, const std::shared_ptr<const Image>& after,
            const UpdateStep& step, Context& context);
  /// Holds until begin_anew().
  bool is_at_rest() const { return is_at_rest_; }
  /// What a checkpoint holds, so that a resumed run ends with the same update; nothing where the rule is `never`.
  void keep(std::map<std::string, double>& kept) const;

 private:
  void say(const UpdateStep& step, Context& context) const;

  StopParams settings_;
  int below_ = 0;  // updates in a row that changed little
  bool is_at_rest_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
