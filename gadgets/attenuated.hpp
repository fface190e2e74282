// Whether events hold attenuation in their terms.
#pragma once

#include "kernels/types/events.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream {

/// By a mu map of ours, which the image's quantity calls a correction only once the sensitivity holds it too, or as their
/// source says.
inline bool is_attenuated(const EventBatch& batch) {
  return batch.quantity && !batch.multiplicative.empty() &&
         (!batch.quantity->attenuated_by.mu_map.empty() ||
          (*batch.quantity)[Correction::attenuation].state == CorrectionState::made);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
