// Monte Carlo of list mode: positron annihilations of a phantom, photon pairs, attenuation,
// crystals, ToF and randoms of a RingScanner, in slices of scanner time that run in parallel.
// Same seed, same events, whatever the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/simulate/phantom.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/singles_counts.hpp"

namespace tofstream {

struct SimulationOptions {
  std::uint64_t seed = 1;
  bool attenuation = true;    // in the phantom; off: every photon leaves it
  double activity_scale = 1;  // times the phantom's activity
  double randoms_cps = 0;     // uniform over detector pairs in coincidence and the ToF window
  /// Gaussian in each of two directions across the line; about 0.5 is usual; 0.54 +- 0.02 was measured in a
  /// volunteer (K. Shibuya et al., IEEE Nucl Sci Symp Conf Rec 2006, 1889-1892).
  double acollinearity_fwhm_deg = 0;
  double positron_range_fwhm_mm = 0;  // Gaussian, each axis
  bool delayeds = false;              // also an independent realisation of the randoms, as a delayed window counts them
  /// Also singles of each detector: as many as make the randoms, 2 tau S_i S_j, where all coincidences are kept. Drawn
  /// on their own, not from the photons of the events.
  bool singles = false;
  double half_life_s =
      0;  // activity is that of the scan's start and falls, randoms fall with its square; 0: neither does
  /// Also the pairs of which the phantom scatters a photon, once or more, and which the scanner's energy window
  /// accepts.
  bool scatter = false;
  double start_s = 0;  // scanner time at which the events begin; activity decays from time 0 on
  /// Activity whose pairs stand for scatter: recorded as trues are but never attenuated, so that the additive term of a
  /// pair and ToF bin is known: its efficiency times the line integral of this activity with the ToF response.
  std::optional<Phantom> scatter_phantom;
};

/// What a stretch of scanner time held.
struct SimulationTruth {
  double decays = 0;  // mean number in the whole phantom: integral of the activity over time
  std::uint64_t trues = 0;
  std::uint64_t randoms = 0;
  std::uint64_t scattered = 0;
  std::uint64_t scattered_more = 0;      // of these, by the phantom more than once
  std::uint64_t outside_tof_window = 0;  // trues that the window then refused, not among events
  SimulationTruth& operator+=(const SimulationTruth& other);
  friend bool operator==(const SimulationTruth&, const SimulationTruth&) = default;
};

struct SimulatedEvents {
  EventBatch events;                    // in host memory, detector1 > detector2; start_s and duration_s say which time
  std::vector<std::uint8_t> is_random;  // 1 for randoms, an entry an event
  std::vector<std::uint8_t> scatters;   // how often the phantom scattered both photons together, an entry an event
  EventBatch delayeds;                  // of the same scanner time; empty unless asked for
  std::shared_ptr<const SinglesCounts> singles;  // of the same scanner time; null unless asked for
  SimulationTruth truth;
};

/// The model: a decay is uniform in a solid, its line isotropic; the pair survives the phantom with
/// exp(-line integral of mu); a photon interacts at an exponential depth in its module's slab,
/// which stretches over gaps and beyond ends as blind material of the same density, and is recorded
/// by the crystal layer around the point. So Scanner::geometric holds in closed form: E[trues per s
/// of a pair] = efficiency x exp(-attenuation) x integral of activity (Bq/mL) along the LOR (mm).
/// Photons that were scattered interact in crystals as those of 511 keV do, and are recorded by the ratio of the shares
/// that the energy window accepts. Coherent and photoelectric interactions in the phantom count as Compton's.
/// Decays form a Poisson process, so a batch of given count and one of given time are equally
/// exact.
class EventSimulator {
 public:
  /// Throws std::invalid_argument for options out of range, a phantom without activity or wider
  /// than the scanner, or one whose decays the scanner cannot see; for scatter without attenuation.
  EventSimulator(const RingScanner& ring, Phantom phantom, SimulationOptions options = {});
  ~EventSimulator();
  EventSimulator(EventSimulator&&) noexcept;
  EventSimulator& operator=(EventSimulator&&) noexcept;

  /// Every event of the next `duration_s` of scanner time. Throws std::invalid_argument unless that
  /// is finite, positive and expected to hold fewer than 2^31 events.
  SimulatedEvents next_seconds(double duration_s);
  /// The next `count` events; duration_s is the scanner time that they took. Throws
  /// std::invalid_argument unless count is in [1, 2^31), and std::runtime_error where the activity decays before.
  SimulatedEvents next_events(std::int64_t count);

  const std::shared_ptr<const Scanner>& scanner() const;
  const Phantom& phantom() const;
  /// Events per second of scanner time at the scan's start: a fixed sample, taken when it is first asked for (about
  /// 2%).
  double expected_cps() const;
  /// Mean randoms of every pair in coincidence at the scan's start, per second and mm of ToF (non-ToF: per second): the
  /// additive term of an event's model, times its ToF bin's width.
  double randoms_per_pair() const;

 private:
  struct Model;
  std::unique_ptr<const Model> model_;
  std::uint64_t next_slice_ = 0;
  double next_start_s_ = 0;
  double per_slice_ = 0;  // events of a slice, once some were made by count
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
