// Claims of frames: see frame_groups.hpp.
#include "gadgets/ranks/frame_groups.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "gadgets/io/checkpoint.hpp"

namespace tofstream {

namespace {

std::atomic<const FrameGroups*> groups_in_use = nullptr;

// A client of a network's disk believes for up to a minute that a file is missing which was missing before, unless it
// opens the folder.
void look_anew(const std::filesystem::path& folder) {
  std::error_code none;
  const std::filesystem::directory_iterator opened(folder, none);
}

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

bool FrameGroups::has_image(int frame) const {
  look_anew(folder_);
  return std::filesystem::exists(image_of(frame));
}

std::filesystem::path make_folder_of_groups(const std::filesystem::path& in) {
  std::random_device random;
  const std::filesystem::path folder = in / fmt::format("{:08x}{:08x}", random(), random());
  std::filesystem::create_directories(folder);
  return folder;
}

bool sees_folder_of_groups(const std::filesystem::path& folder, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds between_looks{50};
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    look_anew(folder.parent_path().parent_path());
    look_anew(folder.parent_path());
    std::error_code none;
    if (std::filesystem::is_directory(folder, none)) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(between_looks);
  }
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
