// Means over scan time: see conditions.hpp.
#include "kernels/types/conditions.hpp"

#include <utility>

namespace tofstream {

Conditions conditions_of(const EventBatch& batch) {
  return {batch.live, batch.pose ? std::make_shared<const PoseShares>(PoseShares{{*batch.pose, 1}}) : nullptr};
}

void MeanConditions::add(const EventBatch& batch) {
  add(conditions_of(batch), batch.duration_s * batch.exposure);
}

void MeanConditions::add(const Conditions& conditions, double exposed_s) {
  live_.add(conditions.live, exposed_s);
  if (!(exposed_s > 0)) return;
  moves_ = moves_ || conditions.poses;
  if (!conditions.poses) return add_pose({}, exposed_s);
  for (const PoseShare& each : *conditions.poses) add_pose(each.pose, each.share * exposed_s);
}

Conditions MeanConditions::get() const {
  Conditions mean{live_.get(), nullptr};
  if (!moves_) return mean;
  double all_s = 0;
  for (const auto& [pose, seconds] : poses_s_) all_s += seconds;
  PoseShares shares;
  for (const auto& [pose, seconds] : poses_s_) shares.push_back({pose, seconds / all_s});
  mean.poses = std::make_shared<const PoseShares>(std::move(shares));
  return mean;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
