// When frames were: see frame_times.hpp.
#include "gadgets/io/nifti/frame_times.hpp"

#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tofstream {

namespace {

using nlohmann::ordered_json;

std::vector<double> times_in(const ordered_json& json, const char* key, const std::filesystem::path& path,
                             std::size_t frames) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  const auto are_numbers = [](const ordered_json& list) {
    for (const auto& item : list)
      if (!item.is_number()) return false;
    return true;
  };
  if (!json.is_object() || found == json.end() || !found->is_array() || found->size() != frames || !are_numbers(*found))
    throw std::runtime_error(
        fmt::format("{}: its {} are not the times of {} frames", path.string(), key, frames));
  return found->get<std::vector<double>>();
}

}  // namespace

std::filesystem::path frame_times_path(const std::filesystem::path& image) {
  std::filesystem::path stem = image;
  if (stem.extension() == ".gz") stem.replace_extension();
  return stem.replace_extension(".json");
}

std::optional<FrameTimes> read_frame_times(const std::filesystem::path& image, std::size_t frames) {
  const std::filesystem::path path = frame_times_path(image);
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const ordered_json json = ordered_json::parse(file, nullptr, false);
  if (json.is_discarded()) throw std::runtime_error(fmt::format("{}: not JSON", path.string()));
  return FrameTimes{times_in(json, "FrameTimesStart", path, frames), times_in(json, "FrameDuration", path, frames)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
