// Monte Carlo of two strips (Bialas et al. 2015): decays of a phantom's slice at x = 0, photon pairs in the strips'
// plane, what the strips measure of them. Same seed, same events, whatever the number of threads and the sizes of
// batches.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/simulate/phantom.hpp"
#include "kernels/strip/resolution.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct StripSimulationOptions {
  std::uint64_t seed = 1;
  float slice_mm = 4;  // thickness of the phantom's slice: its activity (Bq/mL) times this is that of the plane
};

/// The model: a decay is where the phantom says, and all angles in the plane are equally likely; it is recorded where
/// both photons meet the strips, with the probability that strip_sensitivity gives. What is measured deviates by a
/// Gaussian of the precision at the true response (strip_precision), so z may lie beyond a strip's end. Nothing is
/// attenuated.
class StripSimulator {
 public:
  /// Throws std::invalid_argument for a scanner that is no pair of strips, a resolution or slice out of range, and a
  /// phantom without activity between the strips or of whose decays the strips see none.
  StripSimulator(std::shared_ptr<const Scanner> scanner, const StripResolution& resolution, Phantom phantom,
                 const StripSimulationOptions& options = {});
  ~StripSimulator();
  StripSimulator(StripSimulator&&) noexcept;
  StripSimulator& operator=(StripSimulator&&) noexcept;

  /// The next `count` events, on the host; start_s and duration_s say which scanner time they took. Throws
  /// std::invalid_argument unless count is in [1, 2^31).
  EventBatch next_events(std::int64_t count);

  /// Decays per second between the strips.
  double activity_Bq() const;
  /// Events per second: of a fixed sample taken at construction (about 1%).
  double expected_cps() const;

 private:
  struct Model;
  struct Pending;
  std::unique_ptr<const Model> model_;
  std::unique_ptr<Pending> pending_;  // events that have been drawn and not yet given
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
