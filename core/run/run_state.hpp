// Where a run stands: how far it is, how it is to end, and the one lock that guards this, the nodes and the edges.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/report/report.hpp"

namespace tofstream {

struct RunState {
  mutable std::mutex mutex;
  std::condition_variable changed;  // one of stopping, cancelled and finished

  bool launched = false;
  bool stopping = false;
  std::atomic<bool> cancelled = false;  // written with the lock held
  bool aborted = false;                 // cancelled without an error
  bool ended_from_outside = false;      // cancelled by who is no gadget
  bool finished = false;                // no gadget code runs, and none will
  std::uint64_t moves = 0;              // messages that were taken or given
  std::size_t alive = 0;                // gadgets that have not ended
  std::size_t own_threads = 0;          // that have not returned, of gadgets and of edges that spill
  std::size_t active = 0;               // tickets and jobs of the flow graph, and own threads that do not wait
  // The first message of a source, or the first event that one booked as received.
  std::optional<std::chrono::steady_clock::time_point> data_began;
  std::vector<RunError> errors;
  std::vector<std::string> running_at_cancel;

  // What gadgets see of it. Stopped without the lock, since callbacks of gadgets run then.
  std::stop_source stop_source;    // of the sources
  std::stop_source cancel_source;  // follows `cancelled`, for gadgets that wait for something outside

  void note_data() {
    if (!data_began) data_began = std::chrono::steady_clock::now();
  }
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
