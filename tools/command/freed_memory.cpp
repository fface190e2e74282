#include "tools/command/freed_memory.hpp"

#ifdef __GLIBC__
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include <malloc.h>

#include "kernels/memory/signals_elsewhere.hpp"
#endif

namespace tofstream::command {

#ifdef __GLIBC__

namespace {

void trim_now_and_then(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, std::chrono::minutes(1), [&] { return stop.stop_requested(); })) {
    if (stop.stop_requested()) return;
    malloc_trim(0);
  }
}

}  // namespace

FreedMemory::FreedMemory() {
  constexpr int largest_kept_block = 32 << 20;  // the most that the library allows
  constexpr int most_kept = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, largest_kept_block);
  mallopt(M_TRIM_THRESHOLD, most_kept);
  const SignalsElsewhere of_thread;
  trimming_ = std::jthread(trim_now_and_then);
}

#else

FreedMemory::FreedMemory() = default;

#endif

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
