// Kappa and anatomical images of priors: see prior_images.hpp.
#include "gadgets/prior/prior_images.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/memory_images.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/grid/sample_image.hpp"

namespace tofstream {
namespace {

std::optional<Image> read_prior_image(const std::filesystem::path& path) {
  if (path.empty()) return std::nullopt;
  if (const Image* given = find_memory_image(path)) return *given;
  require_readable(path);
  return read_nifti(path);
}

/// The same voxels, but for the rounding of a file's floats.
bool is_on_grid(const Image& image, const Grid& grid) {
  constexpr float rounding = 1e-3f;  // of a voxel
  const auto near = [](float a, float b, float edge) { return std::abs(a - b) <= rounding * edge; };
  const Grid& own = image.grid;
  const Vec3 edge = grid.voxel_mm;
  return std::ranges::equal(own.size, grid.size) && near(own.voxel_mm.x, edge.x, edge.x) &&
         near(own.voxel_mm.y, edge.y, edge.y) && near(own.voxel_mm.z, edge.z, edge.z) &&
         near(own.origin_mm.x, grid.origin_mm.x, edge.x) && near(own.origin_mm.y, grid.origin_mm.y, edge.y) &&
         near(own.origin_mm.z, grid.origin_mm.z, edge.z);
}

std::string in_words(const Grid& grid) {
  return fmt::format("{} x {} x {} voxels of {:g} x {:g} x {:g} mm from ({:g}, {:g}, {:g}) mm", grid.size[0],
                     grid.size[1], grid.size[2], grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z, grid.origin_mm.x,
                     grid.origin_mm.y, grid.origin_mm.z);
}

}  // namespace

PriorImages::PriorImages(const std::filesystem::path& kappa, const std::filesystem::path& anatomy, int most_alike)
    : kappa_path_(kappa),
      anatomy_path_(anatomy),
      most_alike_(most_alike),
      kappa_file_(read_prior_image(kappa)),
      anatomy_file_(read_prior_image(anatomy)) {
  if (kappa_file_ && std::ranges::any_of(kappa_file_->voxels.span(), [](float value) { return !(value >= 0); }))
    throw std::runtime_error(fmt::format("{}: kappa must not be negative", kappa.string()));
  if (anatomy_file_ &&
      !std::ranges::all_of(anatomy_file_->voxels.span(), [](float value) { return std::isfinite(value); }))
    throw std::runtime_error(fmt::format("{}: the anatomy has a voxel that is not finite", anatomy.string()));
}

float PriorImages::largest_of_anatomy() const {
  float largest = 0;
  if (anatomy_file_)
    for (const float value : anatomy_file_->voxels.span()) largest = std::max(largest, std::abs(value));
  return largest;
}

PriorSettings PriorImages::settings(double beta, const Image& image) {
  if ((kappa_file_ || anatomy_file_) &&
      (!grid_ || !(*grid_ == image.grid) || is_on_host_ != on_host(image.voxels.memory())))
    bring_to(image);
  return {.beta = beta, .kappa = kappa_, .chosen = chosen_};
}

void PriorImages::bring_to(const Image& image) {
  const Memory memory = on_host(image.voxels.memory()) ? Memory::host : Memory::device;
  if (kappa_file_) {
    if (!is_on_grid(*kappa_file_, image.grid))
      throw std::runtime_error(fmt::format("{}: kappa has {}, and the image {}: they must be the same",
                                           kappa_path_.string(), in_words(kappa_file_->grid), in_words(image.grid)));
    Image kappa = kappa_file_->to(memory);
    kappa.grid = image.grid;
    kappa_ = std::make_shared<const Image>(std::move(kappa));
  }
  if (anatomy_file_) bring_anatomy_to(image, memory);
  synchronize(nullptr);  // before an image on the host is released
  grid_ = image.grid;
  is_on_host_ = on_host(memory);
}

void PriorImages::bring_anatomy_to(const Image& image, Memory memory) {
  try {
    Image anatomy = sampled_on(image.grid, *anatomy_file_).to(memory);
    synchronize(nullptr);  // before the sampled one is released
    if (most_alike_ > 0)
      chosen_ = std::make_shared<const ChosenNeighbours>(anatomy, most_alike_);
    else
      anatomy_ = std::make_shared<const Image>(std::move(anatomy));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", anatomy_path_.string(), error.what()));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
