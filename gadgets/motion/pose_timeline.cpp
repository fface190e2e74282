// Poses over time: see pose_timeline.hpp.
#include "gadgets/motion/pose_timeline.hpp"

#include <algorithm>
#include <limits>

namespace tofstream {

namespace {

constexpr double for_ever = std::numeric_limits<double>::infinity();

}  // namespace

PoseTimeline::PoseTimeline(const std::vector<formats::TimedPose>& rows, PoseMaps maps,
                           const PoseTimelineSettings& settings) {
  add(-for_ever, rows.front().time_s, std::nullopt);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double next_s = i + 1 < rows.size() ? rows[i + 1].time_s : for_ever;
    const double end_s = settings.longest_s > 0 ? std::min(next_s, rows[i].time_s + settings.longest_s) : next_s;
    const RigidPose& stated = rows[i].pose;
    add(rows[i].time_s, end_s, number_of(maps == PoseMaps::object_to_scanner ? stated.inverse() : stated, settings));
    add(end_s, next_s, std::nullopt);
  }
}

std::size_t PoseTimeline::number_of(const RigidPose& pose, const PoseTimelineSettings& settings) {
  const auto known = std::ranges::find_if(poses_, [&](const RigidPose& other) {
    return pose == other || largest_distance_mm(pose, other, settings.box_mm) <= settings.tolerance_mm;
  });
  if (known != poses_.end()) return static_cast<std::size_t>(known - poses_.begin());
  poses_.push_back(pose);
  return poses_.size() - 1;
}

void PoseTimeline::add(double start_s, double end_s, std::optional<std::size_t> pose) {
  if (!(end_s > start_s)) return;
  if (!stretches_.empty() && stretches_.back().pose == pose)
    stretches_.back().end_s = end_s;
  else
    stretches_.push_back({start_s, end_s, pose});
}

const PoseStretch& PoseTimeline::at(double time_s) const {
  return *std::ranges::upper_bound(stretches_, time_s, {}, &PoseStretch::end_s);
}

std::vector<double> PoseTimeline::changes(double start_s, double end_s) const {
  std::vector<double> result;
  auto next = std::ranges::upper_bound(stretches_, start_s, {}, &PoseStretch::start_s);
  for (; next != stretches_.end() && next->start_s < end_s; ++next) result.push_back(next->start_s);
  return result;
}

std::size_t PoseTimeline::nearest(double at_s) const {
  auto here = std::ranges::upper_bound(stretches_, at_s, {}, &PoseStretch::end_s);
  while (here != stretches_.begin() && !here->pose) --here;
  while (!here->pose) ++here;
  return *here->pose;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
