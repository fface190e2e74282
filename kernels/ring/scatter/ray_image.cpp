// Images along rays: see ray_image.hpp.
#include "kernels/ring/scatter/ray_image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/analysis/block_means.hpp"

namespace tofstream::ring_scatter {

RayImage::RayImage(const Image& image) {
  view_.edge_mm = image.grid.voxel_mm.as<double>();
  view_.origin_mm = image.grid.origin_mm.as<double>() - view_.edge_mm;
  std::int64_t voxels = 1;
  for (int axis = 0; axis < 3; ++axis) {
    view_.size[axis] = image.grid.size[axis] + 2;
    voxels *= view_.size[axis];
  }
  values_.assign(static_cast<std::size_t>(voxels), 0.0f);
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      std::copy_n(image.voxels.data() + image.grid.index(0, j, k), image.grid.size[0],
                  values_.data() + 1 + std::int64_t{view_.size[0]} * (j + 1 + std::int64_t{view_.size[1]} * (k + 1)));
  view_.values = values_.data();
}

RayBox RayImage::box() const {
  Vec3d high = view_.origin_mm;
  for (int axis = 0; axis < 3; ++axis) high.set(axis, high[axis] + (view_.size[axis] - 1) * view_.edge_mm[axis]);
  return {view_.origin_mm, high};
}

double RayImage::least_edge() const {
  return std::min({view_.edge_mm.x, view_.edge_mm.y, view_.edge_mm.z});
}

RayBox box_of(const RayBox& one, const RayBox& other) {
  RayBox box;
  for (int axis = 0; axis < 3; ++axis) {
    box.low.set(axis, std::min(one.low[axis], other.low[axis]));
    box.high.set(axis, std::max(one.high[axis], other.high[axis]));
  }
  return box;
}

Image in_coarse_voxels(const Image& image) {
  constexpr float wanted_mm = 8;
  std::array<int, 3> factors;
  for (int axis = 0; axis < 3; ++axis)
    factors[static_cast<std::size_t>(axis)] =
        std::clamp(static_cast<int>(wanted_mm / image.grid.voxel_mm[axis]), 1, image.grid.size[axis]);
  return block_means(image, factors);
}

void require_voxels(const Image& image, const char* name) {
  if (image.grid.has_blobs()) throw std::invalid_argument(fmt::format("the {} is of blobs: take one of voxels", name));
  validate(image.grid);
  for (const float value : image.voxels.span())
    if (!(value >= 0 && std::isfinite(value)))
      throw std::invalid_argument(
          fmt::format("the {} holds {}: scatter needs values that are finite and not negative", name, value));
}

void require_mu(const Image& mu) {
  require_voxels(mu, "mu map");
  const float most = std::ranges::max(mu.voxels.span());
  constexpr float most_per_mm = 0.1f, least_per_mm = 0.001f;  // lead has 0.18, bone 0.017, water 0.0096
  if (most > most_per_mm)
    throw std::invalid_argument(fmt::format(
        "the mu map goes up to {:g} per cm: are these Hounsfield units? `tofstream mu-map` makes a map of them",
        10 * most));
  if (most < least_per_mm)
    throw std::invalid_argument(
        fmt::format("the mu map goes up to {:g} per cm, and water has 0.096: is it per mm, or empty?", 10 * most));
}

void require_acceptance(const EnergyAcceptance& energy) {
  if (!(energy.low_keV > 0 && energy.low_keV < electron_keV && energy.high_keV > electron_keV))
    throw std::invalid_argument(
        fmt::format("an energy window of {:g} to {:g} keV does not hold 511 keV", energy.low_keV, energy.high_keV));
  if (!(energy.resolution > 0 && energy.resolution < 1))
    throw std::invalid_argument(
        fmt::format("an energy resolution of {:g}: give the width at half maximum as a share of 511 keV, such as 0.1",
                    energy.resolution));
}

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
