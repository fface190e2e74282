// A stream for work that others ask for on streams of theirs: what is kept from one call to the next, such as memory, is
// ordered on this one, so that a caller's stream may end before it.
#pragma once

#include <functional>
#include <mutex>

#include "kernels/memory/memory.hpp"

struct CUevent_st;

namespace tofstream {

class WorkStream {
 public:
  WorkStream() = default;
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;
  /// What was queued goes on.
  ~WorkStream();

  /// Calls queue(stream), whose work comes after all that the caller's stream has been given, and before what it is given
  /// next. The default stream is its own work stream. One call at a time, others wait.
  void run(Stream callers, const std::function<void(Stream)>& queue);

 private:
  void make();

  std::mutex mutex_;
  [[maybe_unused]] Stream stream_ = nullptr;
  [[maybe_unused]] CUevent_st *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
