// Batches of decays for multiple_scatter.hpp, on one backend.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/memory/memory.hpp"
#include "kernels/ring/scatter/history.hpp"

namespace tofstream::ring_scatter {

/// Counts are added as whole numbers of this share, so that their sum does not depend on the order.
inline constexpr double count_unit = 0x1p-30;
TOFSTREAM_HOST_DEVICE inline std::int64_t in_units(double weight) {
  return static_cast<std::int64_t>(std::floor(weight / count_unit + 0.5));
}

struct CountedBatch {
  std::span<const std::int64_t> counts;  // at each sample, in units
  std::int64_t recorded = 0;
};

class HistoryBatches {
 public:
  virtual ~HistoryBatches() = default;
  /// The decays [first, first + count). What it returns is valid until the next call.
  virtual const CountedBatch& follow(std::int64_t first, std::int64_t count) = 0;
};

/// The law's views are of memory on the host, which must outlive the batches. Throws std::runtime_error for a missing GPU.
std::unique_ptr<HistoryBatches> make_history_batches(const HistoryLaw& law, const CountedLattice& lattice,
                                                     Backend backend);
std::unique_ptr<HistoryBatches> make_history_batches_cuda(const HistoryLaw& law, const CountedLattice& lattice);

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
