// What the tests of the rotation projector share: point spreads, images of points and Gaussians, moments of views.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/math/units.hpp"
#include "kernels/spect/reference.hpp"
#include "kernels/spect/spect.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/view_support.hpp"

namespace tofstream::testing {

/// A spread of one and a half pixels at the axis of circular_views().
inline SpectSettings spread_settings(PsfForm form) {
  return {.psf = GaussianPsfModel{.slope = 0.04f, .sigma0_mm = 1.5f, .intrinsic_mm = 1}, .form = form};
}

/// A kernel that is symmetric in nothing, at two depths.
inline KernelTable lopsided_table() {
  return {.across = 5, .along = 3, .depths_mm = {20, 180}, .values = {0.01f, 0.05f, 0.1f,  0.05f, 0.02f, 0.02f,
                                                                      0.1f,  0.3f,  0.1f,  0.05f, 0,     0.05f,
                                                                      0.1f,  0.04f, 0.01f, 0.03f, 0.06f, 0.1f,
                                                                      0.08f, 0.05f, 0.04f, 0.1f,  0.1f,  0.08f,
                                                                      0.06f, 0.02f, 0.07f, 0.1f,  0.07f, 0.04f}};
}
inline SpectSettings table_settings(PsfForm form) {
  return {.psf = lopsided_table(), .form = form};
}

/// A cylinder of mu along the axis, on a grid of its own.
inline std::shared_ptr<const Image> mu_cylinder(float mu_per_mm, double radius_mm, Vec3 centre = {}) {
  Image mu = Image::zeros(Grid::centred(41, 41, 5, {3, 3, 30}));
  for (int k = 0; k < 5; ++k)
    for (int j = 0; j < 41; ++j)
      for (int i = 0; i < 41; ++i) {
        const Vec3 at = mu.grid.centre(i, j, k) - centre;
        if (std::hypot(double{at.x}, double{at.y}) <= radius_mm) mu.voxels[mu.grid.index(i, j, k)] = mu_per_mm;
      }
  return std::make_shared<const Image>(std::move(mu));
}

/// Random numbers where the grid's cylinder is, else 0.
inline std::vector<float> random_image(const ViewProjector& projector, std::uint64_t seed) {
  const Image support = projector.support();
  std::vector<float> image = random_numbers(support.voxels.size(), seed, 0.2f, 1);
  for (std::size_t v = 0; v < image.size(); ++v) image[v] *= support.voxels[static_cast<std::int64_t>(v)];
  return image;
}

/// A Gaussian blob of unit height.
inline std::vector<float> blob_image(const Grid& grid, Vec3 centre, double sigma_mm) {
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()));
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d from = (grid.centre(i, j, k) - centre).as<double>();
        image[static_cast<std::size_t>(grid.index(i, j, k))] =
            static_cast<float>(std::exp(-dot(from, from) / (2 * sigma_mm * sigma_mm)));
      }
  return image;
}

inline double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum;
}

inline std::vector<float> forward_of(ViewProjector& projector, const ViewBatch& batch,
                                     const std::vector<float>& image) {
  std::vector<float> expectation(static_cast<std::size_t>(batch.count));
  projector.forward(batch.view(), image.data(), expectation.data());
  return expectation;
}
inline std::vector<float> back_of(ViewProjector& projector, const ViewBatch& batch, const std::vector<float>& values) {
  std::vector<float> image(static_cast<std::size_t>(projector.grid().voxels()));
  projector.back(batch.view(), values.data(), image.data());
  return image;
}

/// Counts, centroid and variance (mm, mm^2) along u and w of one view of a batch's projections.
struct ViewMoments {
  double counts = 0, u = 0, w = 0, variance_u = 0, variance_w = 0;
};
inline ViewMoments moments_of(const std::vector<float>& pixels, const ViewSet& set, int view) {
  ViewMoments m;
  const auto each = [&](const auto& visit) {
    for (int w = 0; w < set.size[1]; ++w)
      for (int u = 0; u < set.size[0]; ++u)
        visit((u - 0.5 * (set.size[0] - 1)) * static_cast<double>(set.pixel_mm.x),
              (w - 0.5 * (set.size[1] - 1)) * static_cast<double>(set.pixel_mm.y),
              static_cast<double>(pixels[static_cast<std::size_t>(view * set.pixels() + w * set.size[0] + u)]));
  };
  each([&](double u, double w, double y) {
    m.counts += y;
    m.u += y * u;
    m.w += y * w;
  });
  m.u /= m.counts;
  m.w /= m.counts;
  each([&](double u, double w, double y) {
    m.variance_u += y * (u - m.u) * (u - m.u) / m.counts;
    m.variance_w += y * (w - m.w) * (w - m.w) / m.counts;
  });
  return m;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
