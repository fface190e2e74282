// How decay and dead time weight a batch's time, by their parameters: for those who correct events and for those who
// estimate a normalisation.
#pragma once

#include <stdexcept>

#include "gadgets/ring/event_corrections.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// In s; 0: no decay. Throws std::invalid_argument for an isotope that is not known, or one and a half-life.
inline double half_life_of(const DecayParams& p) {
  if (!p.isotope.empty() && p.half_life_s > 0)
    throw std::invalid_argument("decay: give isotope or half_life_s, not both");
  return p.isotope.empty() ? p.half_life_s : half_life_s(p.isotope, Emission::positrons);
}

/// The batch's own exposure x live fraction x mean decay over its time. Throws std::runtime_error for a live fraction
/// that is stated twice.
inline double exposure_of(const EventBatch& batch, const DeadTimeParams& dead_time, const DecayParams& decay) {
  if (batch.exposure != 1 && dead_time.live_fraction != 1)
    throw std::runtime_error(
        "the events already state the scanner's live fraction: leave out dead_time.live_fraction, or let the decoder "
        "ignore theirs (dead_time: false)");
  const double live = batch.exposure * dead_time.live_fraction, half_life_s = half_life_of(decay);
  if (half_life_s == 0) return live;
  return live * mean_decay(batch.start_s - decay.reference_time_s, batch.duration_s, half_life_s);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
