// The lines between a scanner's pairs of detectors, batch by batch, each with what its pair adds to a sensitivity for a
// mm of its line: for those who sum them in another way than one image.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/types/events.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct PairLinesSettings {
  std::int64_t exact_pairs = 50'000'000;    // all pairs where there are at most so many
  std::int64_t sampled_pairs = 50'000'000;  // else about so many: a lattice of up to 61 times as many, or from as
                                            // many equal cells of the list of all pairs
  std::uint64_t seed = 1;                   // same seed, same lines
  std::int64_t batch_pairs = 1 << 21;
};

struct PairLinesCount {
  std::int64_t pairs = 0;  // of detectors in coincidence
  std::int64_t drawn = 0;  // all of them, or the sample
  bool exact() const { return drawn == pairs; }
};

/// Lines and their values in host memory, which hold during the call, and the fraction that is done with them.
using PairLinesVisit = std::function<void(const EventView& lines, const float* values, double done)>;

/// Calls visit for all lines that meet the box: non-ToF events, and for each efficiency x attenuation x the pairs that
/// it stands for. `mu_per_mm`: as compute_sensitivity() has it. On the host. Throws std::invalid_argument as that does.
PairLinesCount for_each_pair_line(const Scanner& scanner, const Grid& box, const PairLinesSettings& settings,
                                  const Image* mu_per_mm, const PairLinesVisit& visit);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
