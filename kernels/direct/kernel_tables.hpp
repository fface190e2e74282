// The three tables of a view whose kernels are applied in one stage (Ha et al. 2013, section 4.1): which kernel each
// column of voxels has, the kernel's points, and its values there.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/direct/direct_projector.hpp"

namespace tofstream {

/// Points of the kernel of one column of voxels: `count` ones from row `dz` on, numbered from `first` on.
struct KernelRun {
  int dx = 0, dy = 0, dz = 0;
  int count = 0, first = 0;
};

/// On the image's lattice. The points are those in the ellipsoid sum (d_i / (cut sigma_i))^2 <= 1 about the voxel,
/// with the widest radial factor's sigma. Point n - 1 - i is point i mirrored at the voxel.
class KernelTables {
 public:
  KernelTables(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel, const RadialProfiles& profiles);

  /// Of the column of voxels (x, y).
  const float* values(int x, int y) const { return values_of(profile(x, y)); }
  const float* values_of(int profile) const { return values_.data() + static_cast<std::size_t>(profile) * points(); }
  /// The factors of a value: of its run's radial offset, and of the point along and across the view, which all profiles
  /// share. A radial factor holds the profile's sum.
  double radial(int profile, std::size_t run) const {
    return radial_[static_cast<std::size_t>(profile) * runs_.size() + run];
  }
  const std::vector<double>& along() const { return along_; }
  int profile(int x, int y) const { return map_[static_cast<std::size_t>(y * size_x_ + x)]; }
  const std::vector<KernelRun>& runs() const { return runs_; }
  std::size_t points() const { return points_; }
  /// What a profile's values summed to before they were divided by it, as densities times a voxel's volume.
  double sampled_sum(int profile) const { return sums_[static_cast<std::size_t>(profile)]; }
  /// Farthest point along z, in voxels.
  int reach_z() const { return reach_z_; }

 private:
  void set_runs(const DirectLattice& lattice, const ViewFrame& frame, Vec3d half_axes_mm);
  void set_values(const DirectLattice& lattice, const ViewFrame& frame, const DirectKernel& kernel,
                  const RadialProfiles& profiles);

  int size_x_, reach_z_ = 0;
  std::size_t points_ = 0;
  std::vector<std::int32_t> map_;  // of each column: its profile
  std::vector<KernelRun> runs_;
  std::vector<float> values_;   // [profile][point]; each profile's sum to 1
  std::vector<double> along_;   // of each point: ToF and axial factor
  std::vector<double> radial_;  // [profile][run]
  std::vector<double> sums_;
};

/// Half axes in mm of the ellipsoid that kernels are cut to, along t, s and z'.
Vec3d kernel_half_axes_mm(const DirectKernel& kernel, const RadialProfiles& profiles);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
