// Poses over time: see pose_timeline.hpp.
#include "gadgets/motion/pose_timeline.hpp"

#include <algorithm>
#include <limits>

namespace tofstream {

namespace {

constexpr double for_ever = std::numeric_limits<double>::infinity();

}  // namespace

PoseTimeline::PoseTimeline(PoseMaps maps, const PoseTimelineSettings& settings) : maps_(maps), settings_(settings) {
  add(-for_ever, for_ever, std::nullopt);
}

PoseTimeline::PoseTimeline(const std::vector<formats::TimedPose>& rows, PoseMaps maps,
                           const PoseTimelineSettings& settings)
    : PoseTimeline(maps, settings) {
  for (const formats::TimedPose& row : rows) append(row);
}

void PoseTimeline::append(const formats::TimedPose& row) {
  cut(row.time_s);
  const double end_s = settings_.longest_s > 0 ? row.time_s + settings_.longest_s : for_ever;
  add(row.time_s, end_s, number_of(maps_ == PoseMaps::object_to_scanner ? row.pose.inverse() : row.pose));
  add(end_s, for_ever, std::nullopt);
}

std::size_t PoseTimeline::number_of(const RigidPose& pose) {
  const auto known = std::ranges::find_if(poses_, [&](const RigidPose& other) {
    return pose == other || largest_distance_mm(pose, other, settings_.box_mm) <= settings_.tolerance_mm;
  });
  if (known != poses_.end()) return static_cast<std::size_t>(known - poses_.begin());
  poses_.push_back(pose);
  return poses_.size() - 1;
}

/// Takes away what is known of the time from there on.
void PoseTimeline::cut(double time_s) {
  while (!stretches_.empty() && stretches_.back().start_s >= time_s) stretches_.pop_back();
  if (!stretches_.empty()) stretches_.back().end_s = std::min(stretches_.back().end_s, time_s);
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

std::optional<std::size_t> PoseTimeline::nearest(double at_s) const {
  const auto after = std::ranges::upper_bound(stretches_, at_s, {}, &PoseStretch::end_s);
  for (auto here = after;; --here) {
    if (here->pose) return here->pose;
    if (here == stretches_.begin()) break;
  }
  const auto first =
      std::ranges::find_if(after, stretches_.end(), [](const PoseStretch& s) { return s.pose.has_value(); });
  return first == stretches_.end() ? std::nullopt : first->pose;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
