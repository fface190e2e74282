// How a view's kernel is split in stages (Ha et al. 2010, section III: variances add up). The image is resampled onto a
// lattice that lies along the view, and convolved along t with the rest of the ToF response. Histo-images on the views'
// lattices are then complete; those on the image's lattice need a second resampling.
//
// In the plane of a view, with u along its azimuth and z along the axis, a kernel has the covariance
// sigma_axial^2 I + (sigma_tof^2 - sigma_axial^2) n n^T, where n = (cos q, sin q) is the view's direction. So the first
// resampling has the radial factor across the view and a Gaussian of sigma_axial in u and in z, and what is left is a
// convolution along the view, where q is the tilt. A point's u says how far its rows lie from the voxels' along z:
// columns of voxels are first added up across z, with weights that all rows share, and the sums are then resampled
// along z, with weights that depend on u alone. So in tilted views the axial factor must be wide enough for the lattice in
// u too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/direct/resampling_column.hpp"

namespace tofstream {

/// Least full width at half maximum, in the image's voxels, of a factor that is resampled: narrower ones fall between
/// points. On the views' lattices that is the radial one, and in tilted views the axial one.
inline constexpr double least_resampled_fwhm = 1.2;

/// The weights of a resampling by what lies between a point of the view's lattice and a voxel.
struct ResamplingKernel {
  double u_sigma_mm = 0, z_sigma_mm = 0;  // Gaussians
  std::vector<RadialProfile> radial;      // across the view, of each profile of the image; or one for all
  std::vector<double> sums;               // of all weights of a voxel, likewise
};

struct TwoStageSplit {
  DirectLattice between;  // between the stages
  int fine = 1;           // its points per voxel, across the view and along z
  ResamplingKernel in;
  double rest_sigma_mm = 0;             // of the convolution; 0: there is no rest that the lattice can sample
  std::optional<ResamplingKernel> out;  // to the image's lattice
  double cut = 0;                       // of the resamplings, in sigma

  TwoStageSplit(const Grid& grid, const ViewFrame& frame, const DirectKernel& kernel, const RadialProfiles& profiles,
                HistoLattice lattice);
  /// Weights of the convolution from -reach to reach, cut at so many sigmas: unit sum.
  std::vector<float> rest_weights(double cuts) const;
};

/// Of one of the split's resamplings.
ResamplingLaw law_of(const TwoStageSplit& split, const ResamplingKernel& kernel);

/// Weights along z of places that stand in a row, each with those of its first voxel; voxel n's begin `fine` n rows
/// further on.
struct WeightsAlongZ {
  int count = 0;                     // of a place; some are 0
  std::vector<std::int32_t> starts;  // rows of the lattice
  std::vector<float> weights;        // [place][count]

  const float* at(std::int64_t place) const { return weights.data() + place * count; }
};

/// Of the first resampling: of a view's points with i in [-margin, size + margin).
WeightsAlongZ weights_at_points(const Grid& grid, const TwoStageSplit& split, int margin);
/// Of the second one: of the columns of voxels.
WeightsAlongZ weights_at_columns(const Grid& grid, const TwoStageSplit& split);

/// Of one view: the weights of each column of voxels across z, products of weights in u and s.
class ResamplingTaps {
 public:
  /// Takes another view, in the memory of the one before.
  void set(const Grid& grid, const ViewFrame& frame, const TwoStageSplit& split, const ResamplingKernel& kernel,
           const RadialProfiles& profiles);

  /// Weights in u and s that a column has; some of them are 0.
  int count_u() const { return law_.count_u; }
  int count_s() const { return law_.count_s; }

  ColumnStart first(std::int64_t column) const { return first_[static_cast<std::size_t>(column)]; }
  const float* u(std::int64_t column) const { return u_.data() + column * law_.count_u; }
  const float* s(std::int64_t column) const { return s_.data() + column * law_.count_s; }

 private:
  ResamplingLaw law_;
  std::vector<ColumnStart> first_;
  std::vector<float> u_, s_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
