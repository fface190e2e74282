// Sensitivity images on disk, one file a key: magic, key, counts, grid, voxels (of a sample also the images of its
// noise) and a CRC32C of all before it, the voxels by pieces. Written to a temporary name and renamed; a broken file is
// ignored and replaced. A checksum does not protect against forgery, so the folder must be this user's own.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "kernels/ring/sensitivity/sensitivity.hpp"

namespace tofstream {

/// Receives at most one line a call.
using LogLine = std::function<void(const std::string&)>;

class SensitivityCache {
 public:
  /// Files go under `folder`, which is made for this user alone when the first is written. None is read or written if
  /// the folder belongs to another user or others may write in it.
  explicit SensitivityCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The stored result, if there is a whole one; else nothing, and `log` is told of a broken file or a folder that is
  /// not this user's own.
  std::optional<Sensitivity> load(const std::string& key, const LogLine& log = {}) const;
  /// Stores a result. Throws std::runtime_error when the file cannot be written.
  void store(const std::string& key, const Sensitivity& sensitivity) const;
  /// Loads, or computes and stores; a folder that cannot be written costs a log line, not the run.
  Sensitivity get(const std::string& key, const std::function<Sensitivity()>& compute, const LogLine& log = {}) const;

  std::filesystem::path path(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
