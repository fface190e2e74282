// What a TOR projector knows before it sees an event (grid, radial response) and once it has seen a
// batch (ToF): the constants of a_ij = V f(r_ij) g(u_ij - t_i) (conventions.md, the tube of response), for host and
// device.
#pragma once

#include <numbers>
#include <vector>

#include "kernels/math/tof.hpp"
#include "kernels/ring/tor/tof_profile.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/ring/tor/tube.hpp"

namespace tofstream::tor {

/// Constants of a projector. The weight is scale 2^(-radial_rate r^2) for a Gaussian response, scale times the
/// polynomial's response for a blob's, else scale times the table's value at r table_steps_per_mm.
struct Model {
  Grid grid;
  double radius_mm = 0;
  float radius2 = 0;  // mm^2
  bool gaussian = true;
  float radial_rate = 0;  // 1/mm^2
  bool blob = false;
  BlobPolynomial polynomial;
  float table_steps_per_mm = 0;  // of RadialResponse::values()
  float scale = 0;               // voxel volume, times the Gaussian's peak
  double tof_cut_sigma = 3;
  bool by_slice = false;  // Normalise::slice: weights of a slice are scaled to add up to the line's length in it

  /// ListModeProjector::reach_mm: centres of voxels and blobs lie in the box of voxels, and count within the tube's
  /// radius.
  float reach_mm() const { return 1.001f * static_cast<float>(radius_mm); }
};

/// Throws as make_tor_projector does.
Model make_model(const Grid& grid, const TorSettings& settings);
/// One model for voxels; for blobs (kernels/ring/blob) one for each lattice, with the volume that a node has of it.
/// `grid` is valid as a basis, and the response suits it.
std::vector<Model> make_lattice_models(const Grid& grid, const TorSettings& settings);

/// The ToF response of a batch of events: its integral over an event's bin (tof_profile.hpp), or, for the scheme of
/// Cui et al. alone (II.B.7), its value at the bin's centre times the bin's width.
struct TofTerm {
  double cut_mm = -1;  // negative: non-ToF
  bool at_centre = false;
  TofKernel<float> kernel;
  float rate = 0;  // 1/mm^2, of 2^(-rate (u - t)^2) at the centre

  TOFSTREAM_HOST_DEVICE bool present() const { return cut_mm >= 0; }
  TOFSTREAM_HOST_DEVICE double reach_mm(float bin_width_mm) const {
    return at_centre ? cut_mm : cut_mm + reach_beyond_cut_mm(bin_width_mm, kernel.inverse_sigma);
  }
};

inline TofTerm make_tof_term(const EventView& events, double cut_sigma, bool at_centre) {
  if (!events.has_tof()) return {};
  const auto kernel = TofKernel<double>::make(events.tof.sigma_mm, cut_sigma);
  const double rate = 0.5 * std::numbers::log2e * kernel.inverse_sigma * kernel.inverse_sigma;
  return {kernel.cut_mm, at_centre, TofKernel<float>::make(events.tof.sigma_mm, static_cast<float>(cut_sigma)),
          static_cast<float>(rate)};
}

/// A batch of events under a model.
struct Pass {
  Model model;
  EventView events;
  TofTerm tof;

  /// How far from the event's ToF centre a voxel may lie along the line; negative for non-ToF.
  TOFSTREAM_HOST_DEVICE double reach_mm(std::int64_t event) const {
    return tof.present() ? tof.reach_mm(events.bin_width_mm(event)) : tof.cut_mm;
  }
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE Tube tube(std::int64_t event) const {
    return make_tube(model.grid, events.lor(event), model.radius_mm, reach_mm(event));
  }
  /// What each weight of the event, whose tube is `tube`, is to be multiplied by.
  TOFSTREAM_HOST_DEVICE float scale(std::int64_t event, const Tube& tube) const {
    if (model.by_slice) return static_cast<float>(std::abs(tube.u_step));
    return tof.at_centre ? model.scale * tof.kernel.density_peak * events.bin_width_mm(event) : model.scale;
  }
};

inline Pass make_pass(const Model& model, const EventView& events, bool tof_at_centre = false) {
  return {model, events, make_tof_term(events, model.tof_cut_sigma, tof_at_centre)};
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
