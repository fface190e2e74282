// What a TOR projector knows before it sees an event (grid, radial response) and once it has seen a
// batch (ToF): the constants of a_ij = V f(r_ij) g(u_ij - t_i) (PHYSICS 3), for host and device.
#pragma once

#include <numbers>
#include <vector>

#include "kernels/math/tof.hpp"
#include "kernels/project/tor/tor.hpp"
#include "kernels/project/tor/tube.hpp"

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
};

/// Throws as make_tor_projector does.
Model make_model(const Grid& grid, const TorSettings& settings);
/// One model for voxels; for blobs (kernels/project/blob) one for each lattice, with the volume that a node has of it.
/// `grid` is valid as a basis, and the response suits it.
std::vector<Model> make_lattice_models(const Grid& grid, const TorSettings& settings);

/// The ToF response of a batch of events.
struct TofTerm {
  double cut_mm = -1;  // negative: non-ToF
  float rate = 0;      // 1/mm^2, of 2^(-rate (u - t)^2)
  float peak = 1;      // 1/mm
};

inline TofTerm make_tof_term(const EventView& events, double cut_sigma) {
  if (!events.has_tof()) return {};
  const auto kernel = TofKernel<double>::make(events.tof.sigma_mm, cut_sigma);
  const double rate = 0.5 * std::numbers::log2e * kernel.inverse_sigma * kernel.inverse_sigma;
  return {kernel.cut_mm, static_cast<float>(rate), static_cast<float>(kernel.density_peak)};
}

/// A batch of events under a model.
struct Pass {
  Model model;
  EventView events;
  TofTerm tof;

  TOFSTREAM_HOST_DEVICE Tube tube(std::int64_t event) const {
    return make_tube(model.grid, events.lor(event), model.radius_mm, tof.cut_mm);
  }
  /// What each weight of the event is to be multiplied by.
  TOFSTREAM_HOST_DEVICE float scale(std::int64_t event) const {
    const float width = tof.cut_mm >= 0 ? events.bin_width_mm(event) : 1.0f;
    return model.scale * tof.peak * width;
  }
};

inline Pass make_pass(const Model& model, const EventView& events) {
  return {model, events, make_tof_term(events, model.tof_cut_sigma)};
}

}  // namespace tofstream::tor
