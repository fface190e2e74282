// The scan time of batches that a window or gate has emptied.
#pragma once

#include <algorithm>

#include "kernels/types/events.hpp"
#include "kernels/types/live_pattern.hpp"

namespace tofstream {

/// A batch of which nothing is left was measured too. Its time goes to the events that follow it, as with a decoder's
/// time blocks without events, or else to those before.
class EmptiedTime {
 public:
  void add(const EventBatch& emptied) {
    if (emptied.delayed || !(emptied.duration_s > 0)) return;  // prompts and delayeds count the same time
    if (seconds_ == 0) start_s_ = emptied.start_s;
    seconds_ += emptied.duration_s;
    exposed_s_ += emptied.duration_s * emptied.exposure;
    live_.add(emptied.live, emptied.duration_s * emptied.exposure);
  }
  void give_to(EventBatch& batch) {
    if (seconds_ == 0 || batch.delayed) return;
    live_.add(batch.live, batch.duration_s * batch.exposure);
    batch.live = live_.get();
    const double all_s = batch.duration_s + seconds_;
    batch.exposure = (batch.duration_s * batch.exposure + exposed_s_) / all_s;
    batch.duration_s = all_s;
    batch.start_s = std::min(batch.start_s, start_s_);
    *this = {};
  }

 private:
  double seconds_ = 0, exposed_s_ = 0, start_s_ = 0;
  MeanLivePattern live_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
