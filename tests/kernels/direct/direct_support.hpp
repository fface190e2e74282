// What the tests of DIRECT share: kernels, views, points, projections and their moments.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/direct/direct.hpp"
#include "kernels/direct/reference.hpp"
#include "kernels/math/units.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/view_support.hpp"

namespace tofstream::testing {

/// Sigma in mm of a coincidence resolution in ps FWHM.
inline float tof_sigma_of_ps(double fwhm_ps) {
  return static_cast<float>(0.5 * speed_of_light_mm_ps * fwhm_ps / fwhm_per_sigma);
}

/// A kernel of 6.5 mm, symmetric and the same for all voxels.
inline DirectKernel plain_kernel(float tof_sigma_mm) {
  return {.tof_sigma_mm = tof_sigma_mm, .radial = {{0, 6.5f}}, .axial_fwhm_mm = 6.5f};
}

struct NamedKernel {
  std::string name;
  DirectKernel kernel;
};
/// Symmetric or not, invariant or not. Asymmetric: two Gaussians, one twice as wide and moved by a sigma of the narrow
/// one towards the axis.
inline std::vector<NamedKernel> direct_kernels(float tof_sigma_mm) {
  std::vector<NamedKernel> kernels;
  for (const bool is_symmetric : {true, false})
    for (const bool is_invariant : {true, false}) {
      DirectKernel kernel = plain_kernel(tof_sigma_mm);
      if (!is_invariant) kernel.radial = {{5, 5.5f}, {60, 9}};
      if (!is_symmetric) kernel.parts = {{1, 1, 0}, {1, 2, 1}};
      kernels.push_back(
          {std::string(is_symmetric ? "symmetric" : "asymmetric") + (is_invariant ? " invariant" : " variant"),
           kernel});
    }
  return kernels;
}

/// A method with a lattice that it takes.
struct DirectMethod {
  std::string name;
  DirectOperator method;
  HistoLattice lattice;
};
inline std::vector<DirectMethod> direct_methods(const DirectKernel& kernel) {
  std::vector<DirectMethod> methods = {{"two_stage, view", DirectOperator::two_stage, HistoLattice::view},
                                       {"two_stage, image", DirectOperator::two_stage, HistoLattice::image},
                                       {"one_stage", DirectOperator::one_stage, HistoLattice::image}};
  if (kernel.is_invariant() && kernel.is_symmetric())
    methods.push_back({"fft", DirectOperator::fft, HistoLattice::image});
  return methods;
}

/// A projector, its views and all that a test needs to know of them.
struct DirectCase {
  Grid grid;
  DirectViews views;
  DirectSettings settings;
  ViewSet set;

  DirectCase(const Grid& on, const DirectViews& directions, const DirectKernel& kernel, DirectOperator method,
             HistoLattice lattice)
      : grid(on),
        views(directions),
        settings{.kernel = kernel, .method = method, .lattice = lattice},
        set(direct_view_set(on, directions, lattice)) {}
  std::unique_ptr<ViewProjector> projector() const { return make_direct_projector(grid, set, settings, Backend::cpu); }
  DirectReference reference(ReferenceCut cut = ReferenceCut::none) const { return {grid, set, settings, cut}; }
  ViewFrame frame(int view) const { return ViewFrame::of(views.azimuth_deg(view), views.tilt_deg(view)); }
  DirectLattice lattice(int view) const { return DirectLattice::of(grid, settings.lattice, frame(view)); }
};

inline std::vector<float> direct_forward(ViewProjector& projector, const ViewBatch& batch,
                                         const std::vector<float>& image) {
  std::vector<float> histo(static_cast<std::size_t>(batch.count));
  projector.forward(batch.view(), image.data(), histo.data());
  return histo;
}
inline std::vector<float> direct_back(ViewProjector& projector, const ViewBatch& batch,
                                      const std::vector<float>& histo) {
  std::vector<float> image(static_cast<std::size_t>(projector.grid().voxels()));
  projector.back(batch.view(), histo.data(), image.data());
  return image;
}
inline std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// 1 at each voxel.
inline std::vector<float> points_image(const Grid& grid, const std::vector<std::array<int, 3>>& voxels) {
  std::vector<float> image(static_cast<std::size_t>(grid.voxels()));
  for (const auto& [i, j, k] : voxels) image[static_cast<std::size_t>(grid.index(i, j, k))] = 1;
  return image;
}

/// Sum, centroid and standard deviations of values on a lattice, along t, s and z' of a frame; mm.
struct FrameMoments {
  double sum = 0;
  Vec3d mean, sigma;
};
template <class T>
FrameMoments frame_moments(const T* values, const DirectLattice& lattice, const ViewFrame& frame) {
  FrameMoments m;
  const auto each = [&](const auto& visit) {
    for (int k = 0; k < lattice.size[2]; ++k)
      for (int j = 0; j < lattice.size[1]; ++j)
        for (int i = 0; i < lattice.size[0]; ++i) {
          const Vec3d at = lattice.position(i, j, k);
          visit(Vec3d{frame.t(at), frame.s(at), frame.z(at)}, static_cast<double>(values[lattice.index(i, j, k)]));
        }
  };
  each([&](Vec3d at, double value) {
    m.sum += value;
    m.mean = m.mean + value * at;
  });
  m.mean = (1 / m.sum) * m.mean;
  Vec3d variance;
  each([&](Vec3d at, double value) {
    const Vec3d from = at - m.mean;
    variance = variance + value * Vec3d{from.x * from.x, from.y * from.y, from.z * from.z};
  });
  m.sigma = {std::sqrt(variance.x / m.sum), std::sqrt(variance.y / m.sum), std::sqrt(variance.z / m.sum)};
  return m;
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
