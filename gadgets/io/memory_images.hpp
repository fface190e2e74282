// Images in memory that stand for files: a caller who has a program in place of a pipeline names them "memory:NAME"
// where a parameter asks for a file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "kernels/types/image.hpp"

namespace tofstream {

using NamedImages = std::map<std::string, Image>;

/// While it lives, files "memory:NAME" of this thread are these images.
class MemoryImages {
 public:
  explicit MemoryImages(std::shared_ptr<const NamedImages> images);
  ~MemoryImages();
  MemoryImages(const MemoryImages&) = delete;
  MemoryImages& operator=(const MemoryImages&) = delete;

 private:
  const std::shared_ptr<const NamedImages> images_;
  const MemoryImages* const before_;
  friend const Image* find_memory_image(const std::filesystem::path& path);
};

/// The image that a path names; null for the path of a file. Throws std::runtime_error where no image has the name.
const Image* find_memory_image(const std::filesystem::path& path);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
