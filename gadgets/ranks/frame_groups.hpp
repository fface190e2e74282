// Processes that share the frames, or gates, of a run: each frame is reconstructed by the group that claims
// it first, and one process more collects the images of all. They know of one another
// by a folder alone, which may be on a disk of several hosts.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

namespace tofstream {

class FrameGroups {
 public:
  /// `folder` is there, and of this run alone. Groups count from 1; 0 is the process that collects.
  FrameGroups(std::filesystem::path folder, int group, int groups)
      : folder_(std::move(folder)), group_(group), groups_(groups) {}

  int group() const { return group_; }
  int groups() const { return groups_; }
  bool collects() const { return group_ == 0; }

  /// Whether this group is to reconstruct the frame: the one that asks first is. Throws std::system_error where the
  /// folder takes no claim.
  bool claim(int frame) const;
  /// Which group has claimed it; nothing: none has.
  std::optional<int> owner(int frame) const;
  /// The checkpoint with the frame's image, which is complete once it is there. Its events, and those of them that were
  /// rejected, are the frame's own.
  std::filesystem::path image_of(int frame) const;
  /// Whether it is there, now, on a disk of several hosts too.
  bool has_image(int frame) const;

 private:
  std::filesystem::path claim_of(int frame) const;

  std::filesystem::path folder_;
  int group_, groups_;
};

/// A new folder for groups, below one of this run's, by a name that no folder elsewhere has: who sees it, perhaps on
/// another host, sees this one, and groups of a run that was killed do not come back to it. Throws
/// std::filesystem::filesystem_error where it cannot be made.
std::filesystem::path make_folder_of_groups(const std::filesystem::path& in);
/// Whether it is there, or comes within `patience`.
bool sees_folder_of_groups(const std::filesystem::path& folder, std::chrono::milliseconds patience);

/// That of this process; null: it reconstructs all frames itself. Gadgets that cut frames, and updates, ask it.
const FrameGroups* frame_groups();

/// Makes it that of this process while it lives.
class FrameGroupsInUse {
 public:
  explicit FrameGroupsInUse(const FrameGroups& groups);
  ~FrameGroupsInUse();
  FrameGroupsInUse(const FrameGroupsInUse&) = delete;
  FrameGroupsInUse& operator=(const FrameGroupsInUse&) = delete;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
