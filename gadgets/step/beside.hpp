// Work beside a gadget's own, on a thread of its own: the gadget begins it, goes on with its messages, and takes what
// was made later. Its loops leave oneTBB's workers to those of everybody else. The thread itself has the priority of
// all others: as one of low priority it got nothing on a busy machine, and held up the updates that came to wait for it.
#pragma once

#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

#include <oneapi/tbb/task_arena.h>

namespace tofstream {

template <class Result>
class Beside {
 public:
  Beside() = default;
  ~Beside() { drop(); }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  bool is_at_work() const { return made_.valid(); }
  /// What `work` uses must last until take() or drop(). It should end, by an exception, soon after a stop is requested.
  /// Only where nothing is at work.
  void begin(std::function<Result(std::stop_token)> work) {
    std::packaged_task<Result(std::stop_token)> task(std::move(work));
    made_ = task.get_future();
    thread_ = std::jthread([task = std::move(task)](std::stop_token stop) mutable {
      using Arena = oneapi::tbb::task_arena;
      Arena(Arena::automatic, 1, Arena::priority::low).execute([&] { task(std::move(stop)); });
    });
  }
  /// Waits for it. Throws what the work threw.
  Result take() { return made_.get(); }
  /// Ends the work, if there is any, and waits for its end.
  void drop() {
    thread_ = {};  // a jthread that is replaced is stopped and joined
    made_ = {};
  }

 private:
  std::future<Result> made_;
  std::jthread thread_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
