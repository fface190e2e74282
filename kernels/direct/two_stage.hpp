// How a view's kernel is split in stages (Ha et al. 2010, section III: variances add up). The image is resampled onto a
// lattice that lies along the view, and convolved along t with the rest of the ToF response. Histo-images on the views'
// lattices are then complete; those on the image's lattice need a second resampling.
//
// On a view's lattice a kernel is a function of (du, ds, dk): along the view's azimuth, across it, and along z from the
// sheared rows. There it is Gaussian in du with deviation sigma_tof cos q about -sin q cos q dk, the radial factor in
// ds, and Gaussian in dk with deviation sigma_axial / cos q. The first resampling has the radial and the axial factor,
// less what the second one has of them, and a narrow Gaussian in du. The convolution is the same for all voxels. The
// shift of du by dk, in a tilted view, is a sum over channels: a row dk away is shared out between two narrow Gaussians
// in du whose shifts lie to both sides of its own. So no weight is negative.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/direct/resampling_column.hpp"

namespace tofstream {

/// Least full width at half maximum, in the image's voxels, of a factor that is resampled: narrower ones fall between
/// points. On the views' lattices that is the radial one.
inline constexpr double least_resampled_fwhm = 1.2;

/// The weights of a resampling by what lies between a point of the view's lattice and a voxel.
struct ResamplingKernel {
  double u_sigma_mm = 0, k_sigma_mm = 0;    // Gaussians in du and dk
  double shift_per_dk = 0;                  // of du
  std::vector<double> channels_mm = {0.0};  // shifts of du, ascending and equally far apart
  std::vector<RadialProfile> radial;        // in ds, of each profile of the image; or one for all
  std::vector<double> sums;                 // of all weights of a voxel, likewise

  /// The share of a channel in a row dk away.
  double share(std::size_t channel, double dk_mm) const;
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

/// Of one view: the weights of each column of voxels, products of weights in du, ds and dk.
class ResamplingTaps {
 public:
  /// Takes another view, in the memory of the one before.
  void set(const Grid& grid, const ViewFrame& frame, const TwoStageSplit& split, const ResamplingKernel& kernel,
           const RadialProfiles& profiles);

  int channels() const { return law_.channels; }
  int fine() const { return fine_; }
  /// Weights in du, ds and dk that a column has; some of them are 0.
  int count_u() const { return law_.count_u; }
  int count_s() const { return law_.count_s; }
  int count_k() const { return law_.count_k; }

  /// The weights of a column's voxel number n begin fine() * n rows above those of its first one.
  ColumnStart first(std::int64_t column) const { return first_[static_cast<std::size_t>(column)]; }
  /// [channel][count_u]
  const float* u(std::int64_t column) const { return u_.data() + column * law_.channels * law_.count_u; }
  /// [count_s]
  const float* s(std::int64_t column) const { return s_.data() + column * law_.count_s; }
  /// [channel][count_k]; the sum over all channels is 1.
  const float* k(std::int64_t column) const { return k_.data() + column * law_.channels * law_.count_k; }

 private:
  ResamplingLaw law_;
  int fine_ = 1;
  std::vector<ColumnStart> first_;
  std::vector<float> u_, s_, k_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
