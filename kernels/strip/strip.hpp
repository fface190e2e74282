// The projector of two strips (Bialas et al. 2015; jpet.md): list-mode EM with an analytic kernel on a 2D image, y and
// z of a grid with one pixel along x. Events have free ends on the strips and ToF: end 1 is (0, +R, z_u), end 2 (0, -R,
// z_d), tof_mm = dl / 2. An event whose ellipse of 3 sigma meets no pixel, or that is not finite, touches nothing.
#pragma once

#include <memory>
#include <string>

#include "kernels/project/reference.hpp"
#include "kernels/strip/geometry.hpp"
#include "kernels/strip/kernel.hpp"
#include "kernels/strip/resolution.hpp"

namespace tofstream {

/// How the GPU shares events out.
enum class StripCudaPath {
  automatic,         // whatever is fastest
  thread_per_event,  // the paper's first version
  warp_per_event,    // the paper's second: pixels and kernel values kept between the two passes
};

struct StripSettings {
  StripGeometry geometry = {};
  StripResolution resolution = {};
  StripForm form = StripForm::full;
  StripCudaPath cuda_path = StripCudaPath::automatic;
};

/// Throws std::invalid_argument, naming what is wrong, unless the grid has voxels, one along x, and geometry and
/// resolution are valid.
void validate(const Grid& grid, const StripSettings& settings);

/// A projector over the kernel P, in 1/mm^3 of (z_u, z_d, dl): (A x)_i = sum_j P(i | j) x_j. Where x holds decays a
/// pixel, that is the density of measuring the event. Its closed-form sensitivity is that of the geometry, to which the
/// full form integrates. Throws std::invalid_argument as validate() does, also for events that have detectors or no
/// ToF; std::runtime_error for a missing GPU.
std::unique_ptr<ListModeProjector> make_strip_projector(const Grid& grid, const StripSettings& settings,
                                                        Backend backend);

/// Why `automatic` cannot take its fast path on CUDA, for people: the image or an event's ellipse has too many pixels.
/// Empty where it can, and for the other paths.
std::string why_strips_are_slow(const Grid& grid, const StripSettings& settings);

/// The same operator in double precision, single-threaded and written for clarity: the oracle of all other versions.
std::unique_ptr<ReferenceProjector> make_strip_reference(const Grid& grid, const StripSettings& settings);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
