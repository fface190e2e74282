// Events in the frame of an object that moves: see event_placer.hpp.
#include "gadgets/motion/event_placer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/attenuated.hpp"
#include "gadgets/cut_in_time.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

PoseTimelineSettings timeline_settings(const Scanner& scanner, double longest_s, double tolerance_mm) {
  return {longest_s, tolerance_mm, field_of_view(scanner).edges_mm.as<double>()};
}

void EventPlacer::check(const EventBatch& batch) const {
  const std::string& name = words_.gadget;
  if (!batch.detectors || !batch.scanner)
    throw std::runtime_error("the events do not name detectors of a scanner, which could be moved");
  if (batch.pose) throw std::runtime_error(fmt::format("the events were moved before: one {} is enough", name));
  if (batch.count > 0 && !(batch.duration_s > 0))
    throw std::runtime_error("the events state no scan time, so nobody knows where the object was");
  if (batch.axis_begin[3] > 0)
    throw std::runtime_error(
        fmt::format("the events are sorted by their lines, which change here: put {} before tof_partition", name));
  if (is_attenuated(batch))
    throw std::runtime_error(fmt::format(
        "the events are attenuated along lines that are not moved yet: put {} before event_corrections", name));
}

void EventPlacer::place(EventBatch batch, const PoseTimeline& timeline, Emit<EventBatch>& emit, Context& context) {
  placed_.resize(timeline.poses().size());
  const auto scanner = batch.scanner;
  const std::vector<double> changes_s = timeline.changes(batch.start_s, batch.start_s + batch.duration_s);
  warn_of_long(batch, changes_s, context);
  for (EventBatch& piece : cut_in_time(std::move(batch), changes_s))
    place_piece(std::move(piece), timeline, emit, context);
  report(*scanner, context);
}

// A piece is in the pose of its middle, from which its ends differ by half an event's time at most.
void EventPlacer::place_piece(EventBatch piece, const PoseTimeline& timeline, Emit<EventBatch>& emit,
                              Context& context) {
  const double middle_s = piece.start_s + 0.5 * piece.duration_s, end_s = piece.start_s + piece.duration_s;
  std::optional<std::size_t> pose = timeline.at(middle_s).pose;
  if (!pose) {
    if (!piece.delayed) without_pose_s_ += piece.duration_s;
    if (p_.gaps == PoseGaps::drop) return context.books().rejected(piece.event_count(), "of a time without a pose");
    if (p_.gaps == PoseGaps::hold) pose = timeline.nearest(middle_s);
    if (!pose) refuse_gap(piece.start_s, end_s);
  }
  if (piece.delayed) return emit(std::move(piece));
  Placed& placed = placed_[*pose];
  if (!placed.pose) {
    placed.pose = std::make_shared<const RigidPose>(timeline.poses()[*pose]);
    placed.detectors =
        *placed.pose == RigidPose{} ? piece.scanner->detectors : moved(*piece.scanner->detectors, *placed.pose);
  }
  piece.detectors = placed.detectors;
  piece.pose = placed.pose;
  emit(std::move(piece));
}

void EventPlacer::refuse_gap(double start_s, double end_s) const {
  throw std::runtime_error(
      fmt::format("{}: no pose is known for {:g} to {:g} s, of which there are events: {}, or say "
                  "what to do (gaps: hold or drop)",
                  words_.source, start_s, end_s, words_.complete));
}

void EventPlacer::warn_of_long(const EventBatch& batch, const std::vector<double>& changes_s, Context& context) {
  constexpr double long_s = 1;
  if (warned_ || changes_s.empty() || batch.count < 2 || batch.duration_s <= long_s) return;
  warned_ = true;
  context.log().warning(fmt::format(
      "events come in batches of {:.2g} s, within which the object moves ({} times from {:g} s on): which of "
      "them came before is known only as if they came evenly; give the decoder fewer batch_events",
      batch.duration_s, changes_s.size(), batch.start_s));
}

void EventPlacer::report(const Scanner& scanner, Context& context) const {
  const Vec3d box_mm = field_of_view(scanner).edges_mm.as<double>();
  std::int64_t used = 0;
  double farthest = 0;
  for (const Placed& placed : placed_) {
    if (!placed.pose) continue;
    ++used;
    farthest = std::max(farthest, largest_distance_mm(*placed.pose, RigidPose{}, box_mm));
  }
  context.report("poses", used);
  context.report("farthest_mm", farthest);  // that a corner of the field of view is from its own place
  if (without_pose_s_ > 0) context.report("without_pose_s", without_pose_s_);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
