// Monte Carlo of a gamma camera: decays of a phantom, photons towards the camera, what the detector records of them. It
// shares no code with the projector, so that the two check each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/simulate/phantom.hpp"
#include "kernels/spect/beam.hpp"
#include "kernels/spect/psf.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

struct CameraSimulation {
  Beam beam = Beam::parallel;
  float focal_mm = 0;           // of a fan or cone: from the collimator's face to the focus
  PsfModel psf = {};            // no table
  double counts_per_decay = 1;  // of a point at the face, without attenuation
  bool attenuation = true;      // by the phantom's mu, which is then that of the photons' energy
  double half_life_s = 0;       // 0: the activity stays
  std::uint64_t seed = 1;
};

/// A decay is where the phantom says. Its photon reaches the camera along the beam through the point with probability
/// counts_per_decay x gain x exp(-integral of mu), gain F / (F - d) of a fan at depth d and its square of a cone; it is
/// recorded at a Gaussian distance of the point spread, if that is on the detector. No photon scatters into the image.
/// The same seed gives the same counts, whatever the number of threads.
class CameraSimulator {
 public:
  /// Throws std::invalid_argument for a phantom without activity, one that reaches beyond the collimator's face or the
  /// focus, a point spread that is a table, and values out of range.
  CameraSimulator(std::shared_ptr<const ViewSet> set, Phantom phantom, const CameraSimulation& camera);

  /// What the camera records at one place of the set, in a batch of one view on the host.
  ViewBatch view(int number) const;
  /// Counts per second at a place of the set when the scan begins, of a fixed sample (about 1 %).
  double expected_cps(int number) const;
  double activity_Bq() const { return phantom_.total_activity_Bq(); }

 private:
  struct Draws;
  void draw_block(const ViewPlace& place, std::uint64_t stream, std::int64_t draws, Draws& to) const;
  std::int64_t draws_of(const ViewPlace& place, double seconds, std::uint64_t stream) const;
  void require_before_the_face() const;

  std::shared_ptr<const ViewSet> set_;
  Phantom phantom_;
  CameraSimulation camera_;
  std::vector<std::size_t> active_;  // solids
  std::vector<double> share_;        // of the draws that are in the active solids up to this one
  double draw_rate_ = 0;             // a second, those that fall outside their solid included
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
