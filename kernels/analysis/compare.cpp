// Figures that compare two images: see compare.hpp.
#include "kernels/analysis/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

Moments moments(std::span<const float> values, const char* name) {
  double sum = 0;
  float low = values[0], high = values[0];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw std::invalid_argument(fmt::format("the {} holds a value that is not finite, at voxel {}", name, i));
    sum += static_cast<double>(values[i]);
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float v : values) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return {mean, squares / static_cast<double>(values.size()), static_cast<double>(low), static_cast<double>(high)};
}

bool near(Vec3 a, Vec3 b) {
  for (int axis = 0; axis < 3; ++axis)
    if (!(std::abs(a[axis] - b[axis]) <= 1e-3f)) return false;
  return true;
}

std::string words(Vec3 v) {
  return fmt::format("{:g}, {:g}, {:g}", v.x + 0.0f, v.y + 0.0f, v.z + 0.0f);  // no -0
}

}  // namespace

void require_same_grid(const Grid& a, const Grid& b) {
  if (!std::ranges::equal(a.size, b.size))
    throw std::invalid_argument(fmt::format("images differ in size: {} x {} x {} and {} x {} x {} voxels", a.size[0],
                                            a.size[1], a.size[2], b.size[0], b.size[1], b.size[2]));
  if (!near(a.voxel_mm, b.voxel_mm))
    throw std::invalid_argument(
        fmt::format("images differ in voxel size: [{}] and [{}] mm", words(a.voxel_mm), words(b.voxel_mm)));
  if (!near(a.origin_mm, b.origin_mm))
    throw std::invalid_argument(fmt::format("images differ in position: the centre of voxel 0 is [{}] and [{}] mm",
                                            words(a.origin_mm), words(b.origin_mm)));
  if (a.blob != b.blob)
    throw std::invalid_argument("images differ in basis: blobs of one sort and voxels or blobs of another");
}

Comparison compare(const Image& image, const Image& reference) {
  require_same_grid(image.grid, reference.grid);
  const std::span<const float> a = image.voxels.span(), b = reference.voxels.span();
  if (a.empty() || a.size() != b.size())
    throw std::invalid_argument("images to compare must hold the same number of voxels, not none");
  const Moments of_a = moments(a, "image"), of_b = moments(b, "reference");
  double squares = 0, products = 0, max_abs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    squares += (x - y) * (x - y);
    products += (x - of_a.mean) * (y - of_b.mean);
    max_abs = std::max(max_abs, std::abs(x - y));
  }
  Comparison result;
  const auto count = static_cast<double>(a.size());
  result.rms = std::sqrt(squares / count);
  const double range = of_b.high - of_b.low;
  if (range > 0) {
    result.nrms = result.rms / range;
  } else {
    result.nrms = max_abs == 0 ? 0 : std::numeric_limits<double>::infinity();
  }
  result.max_abs = max_abs;
  const double spread = std::sqrt(of_a.variance) * std::sqrt(of_b.variance);
  if (spread > 0) {
    result.correlation = products / count / spread;
  } else {
    result.correlation = of_a.variance == of_b.variance ? 1 : 0;
  }
  result.mean = of_a.mean;
  result.reference_mean = of_b.mean;
  return result;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
