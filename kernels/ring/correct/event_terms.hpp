// The multiplicative and additive terms of list-mode events (conventions.md, list-mode EM; Cui et al., Med. Phys. 38
// (2011) 6775, eq. 1): m = efficiency x attenuation x exposure x pattern of live fractions, c = randoms + scatter
// expected in the event's line of response and ToF bin.
#pragma once

#include <memory>

#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

/// What a batch is to be corrected for; a null pointer leaves that correction out.
struct EventTerms {
  const Attenuation* attenuation = nullptr;  // of the object, along the line where the object's pose put it
  const Attenuation* hardware = nullptr;     // of what stays with the scanner, along the line as recorded
  std::shared_ptr<const RandomsModel> randoms = {};
  double randoms_scale = 1;                             // of the batch's time: rate then / rate of the model
  std::shared_ptr<const ScatterEstimate> scatter = {};  // with ToF where the terms are of ToF bins, else without
  double exposure = 1;                                  // EventBatch::exposure
  double reference_s = 1;        // the estimate x counts decays of this time: T of conventions.md
  bool tof = true;               // false: the projector does not look at ToF, so terms are of whole lines
  bool skip_unrecorded = false;  // events on pairs of efficiency 0 are to be skipped where there are no other terms too
};

/// Sets the terms of batch after batch. What they are looked up in, the scanner's efficiencies, the randoms' factors
/// and the scatter, is brought to where events are corrected once and kept until another is given. Results are complete
/// on return and lie in the batch's memory, which may be any; on a GPU they are made on copy_stream(), beside what the
/// device computes. The CPU and a GPU evaluate one text. Not for two threads at once.
class EventCorrector {
 public:
  /// `backend`: that of the attenuation too. Throws std::runtime_error for a missing GPU.
  explicit EventCorrector(Backend backend);
  ~EventCorrector();
  EventCorrector(EventCorrector&&) noexcept;

  Backend backend() const;

  /// Sets batch.exposure and batch.multiplicative = e_ij a exposure l_ij: efficiency (1 where the batch's scanner has
  /// none), attenuation, exposure and the batch's pattern of live fractions. Throws std::invalid_argument for events
  /// that carry terms already, an exposure that is not positive and finite, attenuation on another backend, and hardware
  /// for events that were moved and do not say by which scanner they were recorded.
  void set_multiplicative(EventBatch& batch, const EventTerms& terms);

  /// Sets batch.additive where there are randoms, scatter or pairs to be skipped, after set_multiplicative with the same terms. As the EM
  /// step needs them, they are c / m in units of its forward projection:
  ///   c / m = reference_s (randoms_scale r_ij share / (e_ij a exposure l_ij) + S width / a)
  /// with r_ij randoms per s of the pair and share = bin width / coincidence window (1 without ToF), S scatter per s
  /// and mm of a pair of efficiency 1 and exposure 1, a the attenuation, e_ij the efficiency. An event on a pair of
  /// efficiency 0 gets an infinite one, so that EM skips and counts it. Throws std::invalid_argument for events that
  /// have additive terms or no multiplicative ones, randoms for events without detectors or a coincidence window, a
  /// scatter estimate that is of ToF bins where the events' terms are not or the other way round, and a reference time
  /// that is not positive.
  void set_additive(EventBatch& batch, const EventTerms& terms);

  /// to[i] = the batch's additive term of event i, if it has any, and that of these terms, as set_additive has it. `to`:
  /// batch.count floats where the batch lies, in this corrector's kind of memory. Throws as set_additive, which takes
  /// no events with additive terms.
  void sum_additive(const EventBatch& batch, const EventTerms& terms, float* to);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// Both terms of one batch. `backend`: as EventCorrector's.
void set_terms(EventBatch& batch, const EventTerms& terms, Backend backend = Backend::cpu);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
