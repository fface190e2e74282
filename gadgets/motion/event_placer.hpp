// Takes events along with an object that moves as a whole, by its poses over time: what rigid_motion and live_motion
// share. Detectors stay what they are, so efficiencies, randoms and dead time are the scanner's; attenuation is that of
// the moved line.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// What happens to events of a time for which no pose is known.
enum class PoseGaps { error, hold, drop };
constexpr auto enum_names(PoseGaps) {
  return names(PoseGaps::error, "error", PoseGaps::hold, "hold", PoseGaps::drop, "drop");
}

struct PlacingParams {
  PoseGaps gaps = PoseGaps::error;
  double tolerance_mm = 0.3;
  static constexpr auto params =
      describe(param<&PlacingParams::gaps>(
                   "gaps",
                   "What to do with events of a time without a pose, before the first one or longer than "
                   "longest_s after one: end the run with an error, hold the pose before, or drop the "
                   "events with their time"),
               param<&PlacingParams::tolerance_mm>(
                   "tolerance_mm", range(0, 100), unit("mm"),
                   "Poses are taken as one where they move no point of the field of view farther apart: "
                   "each pose costs a table of moved detectors, and batches of its own"));
};

inline MemoryNeed placing_memory(std::span<const std::size_t> inputs) {
  return {.call_bytes = inputs[0],
          .message_bytes = inputs[0],
          .note = "and a table of detectors, 16 bytes each, for each pose"};
}

class EventPlacer {
 public:
  /// `gadget`: its name in errors; `source`: where poses come from; `complete`: what to do where one is missing.
  struct Words {
    std::string gadget, source, complete;
  };
  EventPlacer(const PlacingParams& params, Words words) : p_(params), words_(std::move(words)) {}

  /// Whether a batch has anything to do with poses: what singles and delayeds say is of detectors, not of lines; but
  /// delayeds go with the time that is dropped.
  bool concerns(const EventBatch& batch) const {
    return !batch.singles && (!batch.delayed || p_.gaps == PoseGaps::drop);
  }
  /// Throws std::runtime_error for events that cannot be moved.
  void check(const EventBatch& batch) const;
  /// Places the events of a batch in the poses of its time, for which `timeline` knows all that it will. The box of
  /// `farthest_mm` is the field of view.
  void place(EventBatch batch, const PoseTimeline& timeline, Emit<EventBatch>& emit, Context& context);

 private:
  // What all batches of a pose share, so that these can be joined; null until there is one.
  struct Placed {
    std::shared_ptr<const RigidPose> pose;
    std::shared_ptr<const DetectorTable> detectors;
  };

  void place_piece(EventBatch piece, const PoseTimeline& timeline, Emit<EventBatch>& emit, Context& context);
  [[noreturn]] void refuse_gap(double start_s, double end_s) const;
  void warn_of_long(const EventBatch& batch, const std::vector<double>& changes_s, Context& context);
  void report(const Scanner& scanner, Context& context) const;

  PlacingParams p_;
  Words words_;
  std::vector<Placed> placed_;  // by pose
  double without_pose_s_ = 0;
  bool warned_ = false;
};

/// The timeline's settings, with the box that the scanner's field of view fills.
PoseTimelineSettings timeline_settings(const Scanner& scanner, double longest_s, double tolerance_mm);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
