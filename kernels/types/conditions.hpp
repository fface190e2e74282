// What a scanner was like while it counted, beyond what it always is: how dead time treated its modules, and where it
// stood to the object. Of a batch this is known; the sensitivity has the mean over the scan.
#pragma once

#include <map>
#include <memory>

#include "kernels/types/events.hpp"
#include "kernels/types/live_pattern.hpp"
#include "kernels/types/rigid_pose.hpp"

namespace tofstream {

struct Conditions {
  std::shared_ptr<const LivePattern> live;  // null: all pairs of modules alike
  std::shared_ptr<const PoseShares> poses;  // null: nobody speaks of movement

  bool is_empty() const { return !live && !poses; }
};

/// The batch's own live pattern and poses.
Conditions conditions_of(const EventBatch& batch);

/// The mean of conditions, each weighted with the exposed time that it holds for.
class MeanConditions {
 public:
  void add(const EventBatch& batch);
  /// Throws std::invalid_argument for patterns of two scanners.
  void add(const Conditions& conditions, double exposed_s);
  Conditions get() const;
  double exposed_s() const { return live_.exposed_s(); }

 private:
  void add_pose(const RigidPose& pose, double exposed_s) { poses_s_[pose] += exposed_s; }

  MeanLivePattern live_;
  std::map<RigidPose, double> poses_s_;  // exposed time in each
  bool moves_ = false;                   // something spoke of movement
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
