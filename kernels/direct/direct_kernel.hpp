// The kernel of DIRECT: where the events of a voxel are deposited. For a voxel j it is
// kappa_j = ToF(t) rad_a(s) ax(z') in a view's frame (Ha et al. 2013, section 2.1), of unit sum over the lattice. The
// radial factor depends on the identifier a of the voxel's radial coordinate.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// Full width at half maximum of the radial factor at a distance from the axis.
struct RadialWidth {
  float radius_mm = 0, fwhm_mm = 0;
  friend bool operator==(const RadialWidth&, const RadialWidth&) = default;
};

/// One Gaussian of the radial factor, in units of the radial width's sigma at the voxel.
struct RadialPart {
  float weight = 1;  // of its area; weights are divided by their sum
  float width = 1;   // its sigma
  float shift = 0;   // of its centre towards the axis: the two sides of the axis mirror each other
  friend bool operator==(const RadialPart&, const RadialPart&) = default;
};

/// A radial factor by its values at offsets of the histo-image's point from the voxel along s: value k of n at
/// (k - (n - 1) / 2) offset_step_mm, linear between, 0 beyond. Rows are divided by their sums.
struct RadialTable {
  float offset_step_mm = 1;
  float radius_step_mm = 0;  // between rows, of the voxel's radial coordinate
  // One for all voxels; or an odd number, from negative coordinates to positive ones.
  std::vector<std::vector<float>> rows;

  bool empty() const { return rows.empty(); }
  bool is_symmetric() const;
  friend bool operator==(const RadialTable&, const RadialTable&) = default;
};

/// Throws std::invalid_argument, in one line, for an even number of rows or values, one that is negative or not finite,
/// a row of zeros, and steps that are not positive.
void validate(const RadialTable& table);

struct DirectKernel {
  float tof_sigma_mm = 0;
  std::vector<RadialWidth> radial;       // ascending radii; linear between them, constant beyond
  std::vector<RadialPart> parts = {{}};  // one: symmetric
  float axial_fwhm_mm = 0;
  float cut_sigma = 4;       // kernels end there; they keep their unit sum
  float radial_step_mm = 2;  // between identifiers; of a table its radius_step_mm
  float radial_blur_mm = 0;  // sigma that each Gaussian of the radial factor has besides, in squares
  RadialTable table = {};    // the radial factor; empty: radial and parts are. Then these two stay as they are
  bool is_symmetric() const;
  bool is_invariant() const;
  friend bool operator==(const DirectKernel&, const DirectKernel&) = default;
};

/// Throws std::invalid_argument, in one line, unless the kernel's numbers can be.
void validate(const DirectKernel& kernel);

/// Sigma of one Gaussian of the radial factor, mm, at a radius of this width.
double radial_sigma_mm(const DirectKernel& kernel, double fwhm_mm, const RadialPart& part);

/// The kernel followed by the blur of the deposit: `variance` (deposit_variance()) times the spacing squared along each
/// axis, added to ToF's, the radial and the axial one. Across and along the view the spacing is the mean of x and y,
/// since that of an image whose voxels are not square changes with the azimuth. Throws std::invalid_argument for a kernel
/// of a table.
DirectKernel with_deposit(DirectKernel kernel, float variance, Vec3 spacing_mm);

/// A Gaussian of an offset along s, of area `weight`.
struct RadialGaussian {
  double weight = 1, centre_mm = 0, sigma_mm = 1;

  TOFSTREAM_HOST_DEVICE double density(double offset_mm) const {
    const double x = (offset_mm - centre_mm) / sigma_mm;
    return weight * 0.3989422804014327 / sigma_mm * std::exp(-0.5 * x * x);
  }
};

/// The radial factor of one identifier; its offset is that of the histo-image's point from the voxel.
using RadialProfile = std::vector<RadialGaussian>;

inline double radial_density(const RadialProfile& profile, double offset_mm) {
  double sum = 0;
  for (const RadialGaussian& part : profile) sum += part.density(offset_mm);
  return sum;
}

/// How far from its voxel, in mm, a profile reaches that each part leaves `cuts` of its sigmas from its centre.
double radial_reach_mm(const RadialProfile& profile, double cuts);

/// Which profile a voxel has by its radial coordinate.
struct RadialSteps {
  double step_mm = 1;
  int middle = 0;  // index of the profile at the axis
  TOFSTREAM_HOST_DEVICE int index(double s_mm) const {
    const double steps = std::round(s_mm / step_mm);
    return middle + static_cast<int>(steps < -middle ? -middle : (steps > middle ? middle : steps));
  }
};

/// All identifiers' profiles. An identifier is a radial coordinate in steps, with its sign; identifiers whose kernels
/// are alike share one profile.
class RadialProfiles {
 public:
  /// For voxels up to `radius_mm` from the axis. Throws std::invalid_argument if a table has no row for some of them.
  RadialProfiles(const DirectKernel& kernel, double radius_mm);

  int count() const { return static_cast<int>(table_.empty() ? profiles_.size() : table_.rows.size()); }
  /// At an offset, of an area of 1: of Gaussians or of a table.
  double density(int index, double offset_mm) const;
  /// The number of the profile of voxels with this radial coordinate.
  int index(double s_mm) const { return steps_.index(s_mm); }
  const RadialSteps& steps() const { return steps_; }
  /// As Gaussians; there are none where the kernel has a table.
  const RadialProfile& operator[](int index) const { return profiles_[static_cast<std::size_t>(index)]; }
  /// Of all profiles; for a table twice as far as it goes, whatever the cut, so that an ellipsoid cuts little of it.
  double reach_mm(double cuts) const;

 private:
  void take_table(double radius_mm);

  RadialSteps steps_;
  std::vector<RadialProfile> profiles_;
  RadialTable table_;  // each row's area is 1
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
