// Claims of frames: see frame_groups.hpp.
#include "gadgets/ranks/frame_groups.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "gadgets/io/checkpoint.hpp"

namespace tofstream {

namespace {

std::atomic<const FrameGroups*> groups_in_use = nullptr;

}  // namespace

std::filesystem::path FrameGroups::claim_of(int frame) const {
  return folder_ / fmt::format("claim_{:04}", frame);
}

// A symbolic link appears with what it says, or not at all.
bool FrameGroups::claim(int frame) const {
  const std::filesystem::path claim = claim_of(frame);
  if (::symlink(std::to_string(group_).c_str(), claim.c_str()) == 0) return true;
  if (errno != EEXIST) throw std::system_error(errno, std::generic_category(), claim.string());
  return owner(frame) == group_;
}

std::optional<int> FrameGroups::owner(int frame) const {
  std::error_code none;
  const std::string text = std::filesystem::read_symlink(claim_of(frame), none).string();
  int group = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group);
  return none || error != std::errc() ? std::nullopt : std::optional(group);
}

std::filesystem::path FrameGroups::image_of(int frame) const {
  return frame_checkpoint(folder_, frame);
}

const FrameGroups* frame_groups() {
  return groups_in_use;
}

FrameGroupsInUse::FrameGroupsInUse(const FrameGroups& groups) {
  groups_in_use = &groups;
}

FrameGroupsInUse::~FrameGroupsInUse() {
  groups_in_use = nullptr;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
