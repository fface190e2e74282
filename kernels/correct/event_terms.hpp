// The multiplicative and additive terms of list-mode events (PHYSICS 2; Cui et al., Med. Phys. 38 (2011) 6775, eq. 1):
// m = efficiency x attenuation x exposure, c = randoms + scatter expected in the event's line of response and ToF bin.
#pragma once

#include "kernels/correct/attenuation.hpp"
#include "kernels/correct/randoms.hpp"
#include "kernels/correct/scatter.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// What a batch is to be corrected for; a null pointer leaves that correction out.
struct EventTerms {
  const Attenuation* attenuation = nullptr;
  const RandomsModel* randoms = nullptr;
  double randoms_scale = 1;                  // of the batch's time: rate then / rate of the model
  const ScatterEstimate* scatter = nullptr;  // with ToF where the terms are of ToF bins, else without
  double exposure = 1;                       // EventBatch::exposure
  double reference_s = 1;                    // the estimate x counts decays of this time: PHYSICS 2's T
  bool tof = true;                           // false: the projector does not look at ToF, so terms are of whole lines
};

/// Sets batch.exposure and batch.multiplicative, and batch.additive where there are randoms or scatter. The scanner of
/// the batch gives efficiencies (1 where it has none). Additive terms, as the EM step needs them, are c / m in units of
/// its forward projection:
///   c / m = reference_s (randoms_scale r_ij share / (e_ij a exposure) + S width / a)
/// with r_ij randoms per s of the pair and share = bin width / coincidence window (1 without ToF), S scatter per s and
/// mm of a pair of efficiency 1 and exposure 1, a the attenuation, e_ij the efficiency. An event on a pair of
/// efficiency 0 gets an infinite one, so that EM skips and counts it. The batch may lie in any memory;
/// tables are looked up on the host, lines through mu are followed on the backend of `attenuation`. Throws
/// std::invalid_argument for events that carry terms already, randoms for events without detectors or a coincidence
/// window, a scatter estimate that is of ToF bins where the events' terms are not or the other way round, and an
/// exposure or reference time that is not positive.
void set_terms(EventBatch& batch, const EventTerms& terms);

}  // namespace tofstream
