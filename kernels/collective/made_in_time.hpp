// What a library makes in a call that may never return: on a thread of its own, with a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "kernels/memory/signals_elsewhere.hpp"

namespace tofstream {

struct NotInTime : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What `make` returns or throws. Throws NotInTime with the text `late` where it does neither within `patience`: then its
/// thread is left behind, drops what it may still make, and ends with the program. So `make` must own what it uses.
template <class Made>
Made made_in_time(std::function<Made()> make, std::chrono::milliseconds patience, const std::string& late) {
  std::packaged_task<Made()> task(std::move(make));
  std::future<Made> made = task.get_future();
  {
    const SignalsElsewhere of_threads;
    std::thread(std::move(task)).detach();
  }
  if (made.wait_for(patience) != std::future_status::ready) throw NotInTime(late);
  return made.get();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
