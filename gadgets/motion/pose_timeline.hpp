// The poses of a scan over its time: few, since those that hardly differ are taken as one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/value/params.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/types/rigid_pose.hpp"

namespace tofstream {

/// Which way a table's transforms go.
enum class PoseMaps { object_to_scanner, scanner_to_object };
constexpr auto enum_names(PoseMaps) {
  return names(PoseMaps::object_to_scanner, "object_to_scanner", PoseMaps::scanner_to_object, "scanner_to_object");
}

/// `motion: {file: head.csv, maps: object_to_scanner}`
struct PoseTableParams {
  std::filesystem::path file;
  PoseMaps maps = PoseMaps::object_to_scanner;
};

inline constexpr auto* pose_file_words =
    "CSV of the poses over scan time: time_s and a matrix m00 to m23 (its last column in mm), or time_s, a quaternion "
    "qw, qx, qy, qz and a shift tx_mm, ty_mm, tz_mm; each holds from its time on";
inline constexpr auto* pose_maps_words =
    "Which way the transforms go: object_to_scanner takes a point of the object, where the image is to show it, to "
    "where "
    "it is at that time, as trackers say it; scanner_to_object is the inverse";

/// A stretch of scan time in one pose.
struct PoseStretch {
  double start_s = 0, end_s = 0;
  std::optional<std::size_t> pose;  // number in PoseTimeline::poses(); nothing: no pose is known
};

struct PoseTimelineSettings {
  double longest_s = 0;     // a row holds for no longer; 0: until the next, the last one for ever
  double tolerance_mm = 0;  // poses that take no corner of the box farther apart are one
  Vec3d box_mm;             // about the origin
};

class PoseTimeline {
 public:
  /// Without a pose yet.
  PoseTimeline(PoseMaps maps, const PoseTimelineSettings& settings);
  /// From the rows of a table.
  PoseTimeline(const std::vector<formats::TimedPose>& rows, PoseMaps maps, const PoseTimelineSettings& settings);

  /// A further pose, of a later time than all before: what is known of earlier times stays as it is.
  void append(const formats::TimedPose& row);
  /// They take the scanner to the object; each differs from the others by more than the tolerance.
  const std::vector<RigidPose>& poses() const { return poses_; }
  /// The stretch that a time lies in.
  const PoseStretch& at(double time_s) const;
  /// The times between two at which another stretch begins, ascending.
  std::vector<double> changes(double start_s, double end_s) const;
  /// The last pose before a time, or the first one after it; nothing where there is no pose at all.
  std::optional<std::size_t> nearest(double at_s) const;

 private:
  std::size_t number_of(const RigidPose& pose);
  void cut(double time_s);
  void add(double start_s, double end_s, std::optional<std::size_t> pose);

  PoseMaps maps_;
  PoseTimelineSettings settings_;
  std::vector<RigidPose> poses_;
  std::vector<PoseStretch> stretches_;  // without gaps between them, from the beginning to the end of all time
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
