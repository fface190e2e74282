// Histo-images written as NIfTI: see histo_nifti.hpp.
#include "gadgets/direct/io/histo_nifti.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/nifti/nifti.hpp"
#include "kernels/grid/choose_grid.hpp"

namespace tofstream {

namespace {

std::string histo_comment(const ViewSet& set) {
  nlohmann::ordered_json comment = {{"histo_images", set.places.size()},
                                    {"lattice", set.histo.lie_along_view ? "view" : "image"},
                                    {"tof_sigma_mm", set.histo.tof_sigma_mm},
                                    {"deposit_variance", set.histo.deposit_variance}};
  for (const ViewPlace& place : set.places) {
    comment["azimuth_deg"].push_back(place.angle_deg);
    comment["tilt_deg"].push_back(place.tilt_deg);
  }
  return comment.dump();
}

}  // namespace

void write_histo_images(const std::filesystem::path& path, const ViewSet& set, std::span<const float> counts) {
  if (set.kind != ViewKind::histo_image)
    throw std::invalid_argument(fmt::format("{}: views of a camera are no histo-images", path.string()));
  if (counts.size() != set.places.size() * static_cast<std::size_t>(set.pixels()))
    throw std::invalid_argument(fmt::format("{}: {} counts of {} views of {} points", path.string(), counts.size(),
                                            set.places.size(), set.pixels()));
  const Grid grid = grid_about({set.size[0], set.size[1], set.size[2]}, set.pixel_mm, set.histo.centre_mm);
  write_nifti_volumes(path, grid, counts,
                      {.description = "tofstream, histo-images", .unit = "counts", .comment = histo_comment(set)});
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
