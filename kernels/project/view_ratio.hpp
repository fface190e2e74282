// What EM does with projected views between forward and back projection, whatever the projector: the ratio of what
// was measured to what was expected, and the books.
#pragma once

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

/// The sums of the stretches that a ratio's kernel cuts views into, on the device and as the host gets them. Kept from
/// one call to the next: no memory is asked for where there is enough.
struct StretchSums {
  /// Room for these views. Says whether the buffers are others now.
  bool make_room(const Views& views, Stream stream);
  Buffer<ViewSums> device, host;
};
/// view_ratio() in two steps, so that what follows can be queued between them: the ratio and the sums of the views'
/// stretches, and their tally, once all that is queued is done.
void queue_view_ratio_cuda(const Views& views, float* projected, StretchSums& sums, Stream stream);
EmTally view_tally_cuda(const Views& views, const StretchSums& sums, Stream stream);
void view_efficiencies_cuda(const Views& views, float* values, Stream stream);

}  // namespace detail

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
