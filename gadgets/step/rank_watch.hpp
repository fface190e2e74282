// What ranks of one process, a thread each, tell of each other during a pass: that one has failed, so that the others
// break off between batches, and how far each has come, so that one that hangs is told.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>

#include "core/gadget.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream {

/// When a rank's thread got further last. From any thread.
class RankProgress {
 public:
  using Clock = std::chrono::steady_clock;
  void note() { at_ = Clock::now().time_since_epoch().count(); }
  Clock::time_point at() const { return Clock::time_point(Clock::duration(at_.load())); }

 private:
  std::atomic<Clock::rep> at_ = 0;
};

/// Waits for a rank's work. Where it gets no further for longer than `patience()` the run is failed, in which the gadget
/// is, with these words; the wait goes on, since the work uses what the caller holds, and the run leaves both behind.
void wait_for_rank(std::future<void>& working, const RankProgress& progress,
                   const std::function<std::chrono::steady_clock::duration()>& patience, const std::string& rank,
                   Context& context);

/// The fault that the pipeline asks of one of the gadget's ranks above 0; none where there is no pipeline.
FaultSettings fault_of_ranks(Context& context);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
