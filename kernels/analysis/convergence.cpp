// Measures of convergence: see convergence.hpp.
#include "kernels/analysis/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tofstream {
namespace {

double voxel_difference(const Image& image, const Image& reference, std::int64_t v) {
  return static_cast<double>(image.voxels[v]) - static_cast<double>(reference.voxels[v]);
}

template <class Value>
double mean_over(const VoxelList& voxels, const Value& value) {
  if (voxels.empty()) throw std::invalid_argument("a region to compare holds no voxel");
  double sum = 0;
  for (const std::int64_t v : voxels) sum += value(v);
  return sum / static_cast<double>(voxels.size());
}

}  // namespace

double ConvergenceMeasures::worst_region() const {
  double worst = 0;
  for (const double error : regions) worst = std::max(worst, std::abs(error));
  return worst;
}

bool ConvergenceLimits::hold(const ConvergenceMeasures& measures) const {
  return measures.object <= object && measures.background <= background && measures.worst_region() <= region;
}

ConvergenceMeasures convergence(const Image& image, const Image& reference, const ConvergenceRegions& regions) {
  if (!(image.grid == reference.grid)) throw std::invalid_argument("the image and the reference have different grids");
  const auto difference = [&](std::int64_t v) { return voxel_difference(image, reference, v); };
  const double level =
      mean_over(regions.background, [&](std::int64_t v) { return static_cast<double>(reference.voxels[v]); });
  if (!(level > 0)) throw std::invalid_argument("the reference's background is not positive");
  const auto root_mean_square = [&](const VoxelList& voxels) {
    return std::sqrt(mean_over(voxels, [&](std::int64_t v) { return std::pow(difference(v), 2); })) / level;
  };
  ConvergenceMeasures measures{root_mean_square(regions.object), root_mean_square(regions.background), {}};
  for (const VoxelList& region : regions.regions) measures.regions.push_back(mean_over(region, difference) / level);
  return measures;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
