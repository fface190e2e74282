// The rotation projector of SPECT: for each view the image is rotated so that a face looks at the camera, each plane
// is attenuated and convolved with the point spread of its depth, and the planes are added. Lengths in mm, the image
// in Bq/mL; forward gives the counts of a view of weight 1.
//
//   A_v = eps V C sum_k H_vk B_vk T_vk M
//
// M is the support, T the interpolation at the lattice's points of plane k, B the attenuation, H the point spread, C
// cuts the detector out, V the volume of a lattice cell, eps the counts per decay. A^T is its exact transpose.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/grid/choose_grid.hpp"
#include "kernels/project/view_projector.hpp"
#include "kernels/spect/beam.hpp"
#include "kernels/spect/psf.hpp"

namespace tofstream {

/// How the point spread is applied.
enum class PsfForm {
  none,         // not at all
  separable,    // a Gaussian, first along one axis, then along the other
  incremental,  // a Gaussian, from plane to plane by what it grows: faster for wide ones
  fft,          // any, in Fourier space; what is below 1e-6 of a view's largest value becomes 0
  table,        // any, by direct summation
};

enum class Rotation {
  automatic,      // interpolating
  interpolating,  // the image is interpolated at the lattice's points
  conserving,     // each voxel's counts are shared out between the lattice's points around it
};

enum class AdjointKind {
  exact,
  // A^T interpolates the lattice at the voxels and does not mirror the point spread (Pedemonte et al. 2010): no
  // transpose.
  paper,
};

struct SpectSettings {
  Beam beam = Beam::parallel;
  float focal_mm = 0;  // from the collimator's face to the focus of a fan or cone
  PsfModel psf = {};
  PsfForm form = PsfForm::none;
  Rotation rotation = Rotation::automatic;
  AdjointKind adjoint = AdjointKind::exact;
  float counts_per_decay = 1;                        // eps
  std::shared_ptr<const Image> mu_per_mm = nullptr;  // on a grid of its own, in host memory; null: no attenuation
  bool box = false;                                  // an image in all of the grid, not in its cylinder only
};

/// Throws std::invalid_argument, in one line that says what to change, unless the projector can be made of these.
void validate(const Grid& grid, const ViewSet& set, const SpectSettings& settings);

/// The projector of a camera's views. One call at a time. The same bits on any number of threads. Throws
/// std::invalid_argument as validate() does and, on CUDA, for a table too large for its form `table`; std::runtime_error
/// for a missing GPU, or for the form fft on CUDA where cuFFT is missing (cuda/cufft_library.hpp).
std::unique_ptr<ViewProjector> make_rotation_projector(const Grid& grid, const ViewSet& set,
                                                       const SpectSettings& settings, Backend backend);

/// The same operator in double precision, single-threaded and by its definition: the oracle of all other versions.
/// The form of the point spread does not matter to it, but for `none`.
std::unique_ptr<ViewProjector> make_rotation_reference(const Grid& grid, const ViewSet& set,
                                                       const SpectSettings& settings);

/// Bytes that a projector holds besides the image and the views that it is given, for images of so many bytes, in the
/// backend's memory: the image and its sums in columns, planes and footprints of a group of views, the kernels' spectra
/// where the form is fft, and with `attenuation` the map, which is taken to be as large as the image. At most, for a
/// circular orbit, 180 views, parallel beams and voxels of a pixel's size: on the CPU each further radius has spectra of
/// its own, and on CUDA each view its footprints.
std::size_t rotation_projector_bytes(std::size_t image, PsfForm form, bool attenuation, Backend backend);

/// The grid that holds what the camera sees at all its places, about the axis: cubes of a pixel's width, or of
/// wish.voxel_mm. Throws std::invalid_argument for a wish for blobs, or for more voxels than an image may have.
Grid choose_view_grid(const ViewSet& set, const GridWish& wish);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
