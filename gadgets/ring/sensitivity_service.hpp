// The other end of sensitivity_ranks.hpp: what a process that is not the first does for one sensitivity.
#pragma once

#include <memory>

#include "gadgets/step/rank_service.hpp"

namespace tofstream {

/// For the gadget that a `sensitivity` message names, which the pipeline has with the same parameters: makes its projector,
/// and answers batches of pairs and of lines with their sums. Throws std::runtime_error, and what a projector's maker and
/// compute_sensitivity() throw.
std::unique_ptr<RankService> open_sensitivity_service(const RankMessage& open, const Pipeline& pipeline);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
