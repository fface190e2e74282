// Batches of a scanner's pairs of detectors, drawn, attenuated and back projected, in the memory of a projector; the
// host learns how many pairs of a batch count. Internal to the sensitivity.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/project/list_mode_projector.hpp"
#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/ring/sensitivity/pair_sample.hpp"
#include "kernels/ring/sensitivity/posed_detectors.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/sensitivity/sensitivity_rank.hpp"

namespace tofstream::detail {

inline constexpr int replicate_group = 8;  // of which the last is held out; a sample has a multiple of them

/// What is drawn of a scanner's pairs.
struct DrawingPlan {
  PairSample sample;
  int most;                                      // replicates that may be drawn of it
  double share_of_error = 1, lines_for_one = 1;  // as ChosenLattice has them
};

class PairDrawing {
 public:
  /// `work.scanner`, the mu maps and the projector outlive it.
  PairDrawing(const SensitivityWork& work, ListModeProjector& projector, Stream stream);

  const DrawingPlan& plan() const { return plan_; }
  std::int64_t places() const { return posed_.places(); }
  /// How many sums a replicate is projected into, each of about as many batches.
  std::int64_t sums() const { return parts_of(batches(), batches_a_sum_); }
  std::int64_t pairs_of_sum() const { return plan_.sample.draws() / sums(); }

  /// See SensitivityRank::project_pairs; adds to `sum`.
  std::int64_t project(int replicate, std::int64_t part, float* sum);

 private:
  static std::int64_t parts_of(std::int64_t all, std::int64_t most) { return (all + most - 1) / most; }
  std::int64_t batches() const { return parts_of(plan_.sample.draws(), capacity_); }  // of a replicate
  std::int64_t project_batch(int replicate, std::int64_t batch, float* sum);

  PairList list_;
  PosedDetectors posed_;
  DrawingPlan plan_;
  ListModeProjector& projector_;
  Reach reach_;
  std::int64_t capacity_, batches_a_sum_;
  PairBatch batch_;
  std::vector<Attenuation> attenuation_, hardware_;  // at most one each
  Stream stream_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
