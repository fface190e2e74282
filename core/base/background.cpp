// See background.hpp.
#include "core/base/background.hpp"

#include <oneapi/tbb/task_arena.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tofstream {

void in_background(const std::function<void()>& work) {
  // Of Linux, a thread's own: setpriority takes threads. Where it is refused the work is done all the same.
  constexpr int low = 10;
  [[maybe_unused]] const int refused = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), low);
  oneapi::tbb::task_arena arena(oneapi::tbb::task_arena::automatic, 1, oneapi::tbb::task_arena::priority::low);
  arena.execute(work);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
