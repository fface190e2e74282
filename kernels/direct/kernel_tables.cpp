// Tables of kernels: see kernel_tables.hpp.
#include "kernels/direct/kernel_tables.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/math/units.hpp"

namespace tofstream {

namespace {

/// How far from its middle an ellipsoid with half axes along the frame's reaches along x, y or z.
double ellipsoid_reach_mm(Vec3d half, double along_t, double along_s, double along_z) {
  return std::hypot(half.x * along_t, half.y * along_s, half.z * along_z);
}

}  // namespace

Vec3d kernel_half_axes_mm(const DirectKernel& kernel, const RadialProfiles& profiles) {
  const double cut = static_cast<double>(kernel.cut_sigma);
  return {cut * static_cast<double>(kernel.tof_sigma_mm), profiles.reach_mm(cut),
          cut * static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma};
}

KernelTables::KernelTables(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel,
                           const RadialProfiles& profiles)
    : size_x_(grid.size[0]) {
  const DirectLattice lattice = DirectLattice::of(grid, HistoLattice::image, frame);
  for (int y = 0; y < grid.size[1]; ++y)
    for (int x = 0; x < grid.size[0]; ++x) map_.push_back(profiles.index(frame.s(lattice.position(x, y, 0))));
  set_runs(lattice, frame, kernel_half_axes_mm(kernel, profiles));
  set_values(lattice, frame, kernel, profiles);
}

void KernelTables::set_runs(const DirectLattice& lattice, const ViewFrame& frame, Vec3d half) {
  const auto voxels = [](double reach_mm, double edge_mm) { return static_cast<int>(std::floor(reach_mm / edge_mm)); };
  const Vec3d n = frame.direction();
  const int reach_x =
      voxels(ellipsoid_reach_mm(half, n.x, frame.sin_f, frame.cos_f * frame.sin_q), lattice.spacing_mm.x);
  const int reach_y =
      voxels(ellipsoid_reach_mm(half, n.y, frame.cos_f, frame.sin_f * frame.sin_q), lattice.spacing_mm.y);
  reach_z_ = voxels(ellipsoid_reach_mm(half, n.z, 0, frame.cos_q), lattice.spacing_mm.z);
  for (int dy = -reach_y; dy <= reach_y; ++dy)
    for (int dx = -reach_x; dx <= reach_x; ++dx) {
      KernelRun run{dx, dy, 0, 0, static_cast<int>(points_)};
      for (int dz = -reach_z_; dz <= reach_z_; ++dz) {
        const Vec3d d = {dx * lattice.spacing_mm.x, dy * lattice.spacing_mm.y, dz * lattice.spacing_mm.z};
        const double t = frame.t(d) / half.x, s = frame.s(d) / half.y, z = frame.z(d) / half.z;
        if (t * t + s * s + z * z > 1) continue;
        if (run.count++ == 0) run.dz = dz;
      }
      if (run.count == 0) continue;
      runs_.push_back(run);
      points_ += static_cast<std::size_t>(run.count);
    }
}

void KernelTables::set_values(const DirectLattice& lattice, const ViewFrame& frame, const DirectKernel& kernel,
                              const RadialProfiles& profiles) {
  const double tof = static_cast<double>(kernel.tof_sigma_mm);
  const double axial = static_cast<double>(kernel.axial_fwhm_mm) / fwhm_per_sigma;
  std::vector<double> across_mm;
  for (const KernelRun& run : runs_) {
    const double dx = run.dx * lattice.spacing_mm.x, dy = run.dy * lattice.spacing_mm.y;
    across_mm.push_back(frame.s({dx, dy, 0}));
    for (int m = 0; m < run.count; ++m) {
      const Vec3d d = {dx, dy, (run.dz + m) * lattice.spacing_mm.z};
      const double t = frame.t(d) / tof, z = frame.z(d) / axial;
      along_.push_back(std::exp(-0.5 * (t * t + z * z)));
    }
  }
  values_.reserve(static_cast<std::size_t>(profiles.count()) * points_);
  std::vector<double> of_profile(points_);
  const double volume = lattice.spacing_mm.x * lattice.spacing_mm.y * lattice.spacing_mm.z;
  for (int a = 0; a < profiles.count(); ++a) {
    double sum = 0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const double radial = profiles.density(a, across_mm[r]);
      const auto first = static_cast<std::size_t>(runs_[r].first);
      for (std::size_t i = first; i < first + static_cast<std::size_t>(runs_[r].count); ++i)
        sum += of_profile[i] = radial * along_[i];
      radial_.push_back(radial);
    }
    sums_.push_back(sum * volume / (2 * std::numbers::pi * tof * axial));
    for (std::size_t r = radial_.size() - runs_.size(); r < radial_.size(); ++r) radial_[r] /= sum;
    for (const double value : of_profile) values_.push_back(static_cast<float>(value / sum));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
