// Events of an object that moves as a whole: each line is taken to where it ran through the object, so that the image is
// that of the object in one place. Detectors stay what they are, so efficiencies, randoms and dead time are the
// scanner's; attenuation is that of the moved line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/attenuated.hpp"
#include "gadgets/cut_in_time.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// What happens to events of a time for which no pose is known.
enum class PoseGaps { error, hold, drop };
constexpr auto enum_names(PoseGaps) {
  return names(PoseGaps::error, "error", PoseGaps::hold, "hold", PoseGaps::drop, "drop");
}

namespace {

struct RigidMotion {
  struct Params : PoseTableParams {
    PoseGaps gaps = PoseGaps::error;
    double longest_s = 0;
    double tolerance_mm = 0.3;
  };
  static constexpr auto params = describe(
      param<&Params::file>("file", required, reads_file, pose_file_words),
      param<&Params::maps>("maps", required, pose_maps_words),
      param<&Params::gaps>("gaps",
                           "What to do with events of a time without a pose, before the first one or longer than "
                           "longest_s after one: end the run with an error, hold the pose before, or drop the events "
                           "with their time"),
      param<&Params::longest_s>("longest_s", range(0, 1e9), unit("s"),
                                "A pose holds for so long at most; 0: until the next, and the last one to the end"),
      param<&Params::tolerance_mm>(
          "tolerance_mm", range(0, 100), unit("mm"),
          "Poses are taken as one where they move no point of the field of view farther apart: "
          "each pose costs a table of moved detectors, and batches of its own"));
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.call_bytes = inputs[0],
            .message_bytes = inputs[0],
            .note = "and a table of detectors, 16 bytes each, for each pose"};
  }

  explicit RigidMotion(const Params& p) : p_(p), rows_(formats::read_pose_table(p.file)) {}

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    // What singles and delayeds say is of detectors, not of lines; but delayeds go with the time that is dropped.
    if (batch.singles || (batch.delayed && p_.gaps != PoseGaps::drop)) return emit(std::move(batch));
    check(batch);
    if (!timeline_) begin(*batch.scanner);
    const std::vector<double> changes_s = timeline_->changes(batch.start_s, batch.start_s + batch.duration_s);
    warn_of_long(batch, changes_s, context);
    for (EventBatch& piece : cut_in_time(std::move(batch), changes_s)) place(std::move(piece), emit, context);
    report(context);
  }

 private:
  // What all batches of a pose share, so that these can be joined; null until there is one.
  struct Placed {
    std::shared_ptr<const RigidPose> pose;
    std::shared_ptr<const DetectorTable> detectors;
  };

  static void check(const EventBatch& batch) {
    if (!batch.detectors || !batch.scanner)
      throw std::runtime_error("the events do not name detectors of a scanner, which could be moved");
    if (batch.pose) throw std::runtime_error("the events were moved before: one rigid_motion is enough");
    if (batch.count > 0 && !(batch.duration_s > 0))
      throw std::runtime_error("the events state no scan time, so nobody knows where the object was");
    if (batch.axis_begin[3] > 0)
      throw std::runtime_error(
          "the events are sorted by their lines, which change here: put rigid_motion before "
          "tof_partition");
    if (is_attenuated(batch))
      throw std::runtime_error(
          "the events are attenuated along lines that are not moved yet: put rigid_motion before "
          "event_corrections");
  }

  void begin(const Scanner& scanner) {
    const Vec3d edges = field_of_view(scanner).edges_mm.as<double>();
    timeline_.emplace(rows_, p_.maps, PoseTimelineSettings{p_.longest_s, p_.tolerance_mm, edges});
    box_mm_ = edges;
    placed_.resize(timeline_->poses().size());
  }

  // A piece is in the pose of its middle, from which its ends differ by half an event's time at most.
  void place(EventBatch piece, Emit<EventBatch>& emit, Context& context) {
    const double middle_s = piece.start_s + 0.5 * piece.duration_s;
    std::optional<std::size_t> pose = timeline_->at(middle_s).pose;
    if (!pose) {
      if (!piece.delayed) without_pose_s_ += piece.duration_s;
      if (p_.gaps == PoseGaps::drop) return context.books().rejected(piece.event_count(), "of a time without a pose");
      if (p_.gaps == PoseGaps::error)
        throw std::runtime_error(fmt::format(
            "{}: no pose is known for {:g} to {:g} s, of which there are events: complete the table, or say "
            "what to do (gaps: hold or drop)",
            p_.file.string(), piece.start_s, piece.start_s + piece.duration_s));
      pose = timeline_->nearest(middle_s);
    }
    if (piece.delayed) return emit(std::move(piece));
    Placed& placed = placed_[*pose];
    if (!placed.pose) {
      placed.pose = std::make_shared<const RigidPose>(timeline_->poses()[*pose]);
      placed.detectors =
          *placed.pose == RigidPose{} ? piece.scanner->detectors : moved(*piece.scanner->detectors, *placed.pose);
    }
    piece.detectors = placed.detectors;
    piece.pose = placed.pose;
    emit(std::move(piece));
  }

  void warn_of_long(const EventBatch& batch, const std::vector<double>& changes_s, Context& context) {
    constexpr double long_s = 1;
    if (warned_ || changes_s.empty() || batch.count < 2 || batch.duration_s <= long_s) return;
    warned_ = true;
    context.log().warning(fmt::format(
        "events come in batches of {:.2g} s, within which the object moves ({} times from {:g} s on): which of "
        "them came before is known only as if they came evenly; give the decoder fewer batch_events",
        batch.duration_s, changes_s.size(), batch.start_s));
  }

  void report(Context& context) const {
    std::int64_t used = 0;
    double farthest = 0;
    for (const Placed& placed : placed_) {
      if (!placed.pose) continue;
      ++used;
      farthest = std::max(farthest, largest_distance_mm(*placed.pose, RigidPose{}, box_mm_));
    }
    context.report("poses", used);
    context.report("farthest_mm", farthest);  // that a corner of the field of view is from its own place
    if (without_pose_s_ > 0) context.report("without_pose_s", without_pose_s_);
  }

  Params p_;
  std::vector<formats::TimedPose> rows_;
  std::optional<PoseTimeline> timeline_;  // once the scanner is known
  Vec3d box_mm_;                          // its field of view
  std::vector<Placed> placed_;            // by pose
  double without_pose_s_ = 0;
  bool warned_ = false;
};

TOFSTREAM_GADGET(RigidMotion, "rigid_motion",
                 "Takes the lines of events to where they ran through an object that moves as a whole");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
