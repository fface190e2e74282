// The projectors of DIRECT: reconstruction from histo-images, one for each view, into which events are deposited at
// their most likely points (Matej et al. 2009). A projection is the sum of the voxels' kernels,
//
//   h_v(p) = sum_j K_v[p, j] x_j,   K_v[p, j] = kappa_j(p - j),
//
// with kappa_j of unit sum over the lattice (direct_kernel.hpp), of which a point p beyond the histo-image is lost. The
// back projection is the transpose. An image and its histo-images have one unit.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/direct/direct_kernel.hpp"
#include "kernels/direct/direct_views.hpp"
#include "kernels/direct/histo_lattice.hpp"
#include "kernels/project/view_projector.hpp"

namespace tofstream {

/// How K_v is applied.
enum class DirectOperator {
  // The image is resampled onto the view's lattice by a Gaussian that is the radial factor across the view, then
  // convolved along t with the rest of the ToF response (Ha et al. 2010). Within 0.5 % of the maximum.
  two_stage,
  // Sum over a table of all points of the kernel (Ha et al. 2013). Any kernel; histo-images on the image's lattice.
  one_stage,
  // In Fourier space. One kernel for all voxels; histo-images on the image's lattice.
  fft,
};

/// What `fft` does at the image's ends.
enum class FftEnds {
  padded,    // beyond them is nothing
  periodic,  // what leaves the image comes in from the other side, as published
};

/// What `fft` multiplies with.
enum class FftSpectrum {
  sampled,   // the transform of the kernel's values at points
  analytic,  // a Gaussian, as published: the kernel then swings, and is negative in places
};

/// How two_stage divides a kernel.
enum class TwoStageScheme {
  footprint,  // the resampling is the radial factor, what is left is along t alone
  paper,      // as published: an isotropic rotation, an elliptic Gaussian, and a rotation back (paper_two_stage.hpp)
};

struct DirectSettings {
  DirectKernel kernel;
  DirectOperator method = DirectOperator::two_stage;
  HistoLattice lattice = HistoLattice::view;
  FftEnds fft_ends = FftEnds::padded;
  FftSpectrum fft_spectrum = FftSpectrum::sampled;
  TwoStageScheme scheme = TwoStageScheme::footprint;
};

/// The views' histo-images for an image: of ViewKind::histo_image, one place a view, in the views' order. Throws
/// std::invalid_argument for an invalid grid or views.
ViewSet direct_view_set(const Grid& grid, const DirectViews& views, HistoLattice lattice);

/// The views that a set of direct_view_set() is of. Throws std::invalid_argument for another one.
DirectViews direct_views_of(const ViewSet& set);

/// Throws std::invalid_argument, in one line that says what to change, where no grid and no views could make a projector
/// of these: a kernel that cannot be, and one that the operator or its scheme does not take. The lattice is not looked at.
void validate(const DirectSettings& settings);

/// Throws std::invalid_argument, in one line that says what to change, unless the projector can be made of these.
void validate(const Grid& grid, const ViewSet& set, const DirectSettings& settings);

/// The projector of histo-images [view][k][j][i] on the set's lattice. One call at a time. The same bits on any number
/// of threads. Throws std::invalid_argument as validate() does, std::runtime_error for a missing GPU, and for fft on
/// CUDA without cuFFT.
std::unique_ptr<ViewProjector> make_direct_projector(const Grid& grid, const ViewSet& set,
                                                     const DirectSettings& settings, Backend backend);

/// Bytes that a projector holds besides the image and the histo-images that it is given, for images of so many bytes, in
/// the backend's memory: an estimate from above of columns, weights and, for fft, spectra. one_stage's tables on CUDA are
/// as many as a kernel has points, times the identifiers of one that varies, a view: they are taken to be 128 MiB.
std::size_t direct_projector_bytes(std::size_t image, DirectOperator method, Backend backend);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
