// A sensitivity that several processes make: the first one's end. sensitivity_service.cpp is the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/gadget.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "kernels/ring/sensitivity/sensitivity_rank.hpp"

namespace tofstream {

/// The processes of rank_group() at one sensitivity of a gadget.
class ProcessesAtSensitivity final : public RanksElsewhere {
 public:
  /// For the gadget's projector on this grid, on everybody's own device of the backend. `context` outlives it.
  ProcessesAtSensitivity(RankGroup& group, const Grid& grid, Backend backend, Context& context);

  /// Throws what the projector's maker throws there.
  std::unique_ptr<SensitivityRank> open(int rank, const SensitivityWork& work) override;
  void first_took(std::chrono::steady_clock::duration time) override;
  void give_up() override { clock_.give_up(); }

 private:
  RankGroup& group_;
  const Grid grid_;
  const Backend backend_;
  const std::string gadget_;
  const std::uint32_t session_;
  PassClock clock_;
};

/// What a message `sensitivity` says after the gadget's name and the RankOpening.
void pack(wire::PackWriter& to, const SensitivityWork& work);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
