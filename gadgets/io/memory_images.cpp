// Images in place of files: see memory_images.hpp.
#include "gadgets/io/memory_images.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tofstream {
namespace {

thread_local const MemoryImages* images_of_thread = nullptr;

}  // namespace

MemoryImages::MemoryImages(std::shared_ptr<const NamedImages> images)
    : images_(std::move(images)), before_(images_of_thread) {
  images_of_thread = this;
}

MemoryImages::~MemoryImages() {
  images_of_thread = before_;
}

const Image* find_memory_image(const std::filesystem::path& path) {
  constexpr std::string_view scheme = "memory:";
  const std::string text = path.string();
  if (!text.starts_with(scheme)) return nullptr;
  const std::string name = text.substr(scheme.size());
  for (const MemoryImages* at = images_of_thread; at; at = at->before_)
    if (const auto found = at->images_->find(name); found != at->images_->end()) return &found->second;
  throw std::runtime_error(fmt::format("{}: no array of that name was given", text));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
