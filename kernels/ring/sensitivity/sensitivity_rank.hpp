// What one rank does of a sensitivity that several make: sums of pairs of detectors, or of a batch of lines. A rank may be another process; then this is the first one's view of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "kernels/project/list_mode_projector.hpp"
#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

namespace detail {
struct DrawingPlan;
}

/// What all ranks must know. It outlives them.
struct SensitivityWork {
  const Scanner& scanner;
  const SensitivitySettings& settings;  // of pairs
  MuMaps mu;
  bool is_of_lines = false;                   // those that the first rank reads, and not pairs
  const detail::DrawingPlan* plan = nullptr;  // of pairs, where a rank of this process has made it
};

/// On a rank's own thread, whose current device is its projector's.
class SensitivityRank {
 public:
  virtual ~SensitivityRank() = default;
  /// sum, zeros before, becomes A^T(efficiency x attenuation) of one of the parts into which a replicate's pairs are cut
  /// (`settings.pairs_a_voxel`), in the memory of the first rank's kind of projector, queued on the rank's stream.
  /// Returns how many lines could touch the image; where there are none, sum is left as it is. Throws what a projector
  /// throws.
  virtual std::int64_t project_pairs(int replicate, std::int64_t part, float* sum) = 0;
  /// The same of lines on the host, as RecordedLines gives them. Returns their number.
  virtual std::int64_t project_lines(EventBatch lines, float* sum) = 0;
};

/// A rank with a projector of this process. `projector` outlives the rank. Throws what compute_sensitivity() throws.
std::unique_ptr<SensitivityRank> make_sensitivity_rank(const SensitivityWork& work, ListModeProjector& projector,
                                                       Stream stream = nullptr);

/// Ranks that are other processes.
class RanksElsewhere {
 public:
  virtual ~RanksElsewhere() = default;
  /// On a thread of the rank's own, on which all that it gives is used too.
  virtual std::unique_ptr<SensitivityRank> open(int rank, const SensitivityWork& work) = 0;
  /// A sum has taken the first rank so long, which is the others' measure.
  virtual void first_took(std::chrono::steady_clock::duration time) = 0;
  /// Nobody needs what the others project: their waits end.
  virtual void give_up() = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
