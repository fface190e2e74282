// What a projector reported: see make_projector.hpp.
#include "tools/c/make_projector.hpp"

namespace tofstream::c_api {

std::string report_of(const GadgetRecord& record) {
  std::string text;
  for (const auto& [key, value] : record.figures())
    if (const auto* words = std::get_if<std::string>(&value))
      text += fmt::format("{}: {}\n", key, *words);
    else if (const auto* number = std::get_if<double>(&value))
      text += fmt::format("{}: {:g}\n", key, *number);
    else if (const auto* whole = std::get_if<std::int64_t>(&value))
      text += fmt::format("{}: {}\n", key, *whole);
  return text;
}

void require_room_for_reference(const Grid& grid) {
  constexpr double images = 3;  // its own, the one that comes in, and a sum
  const double bytes = images * sizeof(double) * static_cast<double>(grid.voxels());
  const auto free = static_cast<double>(free_host_bytes());
  constexpr double bytes_a_GiB = 1 << 30;
  if (bytes > free)
    throw OutOfMemory(
        fmt::format("a reference on {} voxels takes {:.1f} GiB of host memory ({:.1f} GiB are free): use a "
                    "smaller image",
                    grid.voxels(), bytes / bytes_a_GiB, free / bytes_a_GiB));
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
