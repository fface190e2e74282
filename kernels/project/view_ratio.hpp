// What EM does with projected views between forward and back projection, whatever the projector: the ratio of what
// was measured to what was expected, and the books.
#pragma once

#include <cstdint>

#include "kernels/memory/memory.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/views.hpp"

namespace tofstream {

/// Replaces A x in `projected` by w m y / (w m A x + b), in the backend's memory. A pixel whose expectation is not
/// usable (expectation.hpp) becomes 0; its counts are skipped. The tally is in whole counts: of each view those
/// skipped are its pixels' sum, rounded, and at most what its record has; the others are used. log_sum is the sum of
/// y log(expectation). The same bits on any number of threads. Complete on return. Throws std::invalid_argument for
/// views without counts.
EmTally view_ratio(const Views& views, float* projected, Backend backend, Stream stream = nullptr);

/// Puts w m of each pixel into `values`: what a sensitivity is the back projection of. Queued on the stream.
void view_efficiencies(const Views& views, float* values, Backend backend, Stream stream = nullptr);

namespace detail {

/// Sums over the pixels of one view.
struct ViewSums {
  double skipped = 0, log_sum = 0;
};
/// The tally of views from the sums of each.
EmTally tally_of(const Views& views, const ViewSums* sums);

/// Throws std::invalid_argument for views without counts.
void require_counts(const Views& views);

/// What a ratio's kernel sums over a stretch of a view.
struct StretchSum {
  ViewSums sums;
  std::uint32_t is_there = 0;
};

/// view_ratio() on a GPU in steps, so that what follows it can be queued before anybody waits, and need not be waited
/// for. The GPU writes the sums of the stretches into memory of the host, which sees each of them arrive.
class StretchSums {
 public:
  /// For the next ratio, of these views. Says whether the memory is another now.
  bool begin(const Views& views);
  /// Queues the ratio; may be recorded into a graph.
  void queue_ratio(const Views& views, float* projected, Stream stream);
  /// Waits for the sums, and for nothing that was queued behind them.
  EmTally tally(const Views& views, Stream stream) const;

 private:
  Buffer<StretchSum> sums_;  // pinned
};
void view_efficiencies_cuda(const Views& views, float* values, Stream stream);

}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
