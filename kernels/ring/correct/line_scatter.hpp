// A scatter estimate looked up for lines that need not be a scanner's, in the memory where they lie.
#pragma once

#include <memory>
#include <mutex>

#include "kernels/ring/correct/scatter.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

class LineScatterLookup {
 public:
  /// Throws std::invalid_argument for an estimate that is not valid.
  explicit LineScatterLookup(std::shared_ptr<const ScatterEstimate> estimate);

  const ScatterEstimate& estimate() const { return *estimate_; }
  /// values[i] = the estimate at line i and its ToF. Lines and values (lines.count floats) in `memory`; queued on the
  /// stream. For several threads at once.
  void look_up(const EventView& lines, float* values, Memory memory, Stream stream = nullptr) const;

 private:
  const float* samples_on(Memory memory) const;

  std::shared_ptr<const ScatterEstimate> estimate_;
  mutable std::mutex mutex_;
  mutable Buffer<float> on_device_;
};

namespace detail {
void look_up_scatter_cuda(const ScatterView& scatter, const EventView& lines, float* values, Stream stream);
}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
