// Tells the host how far a run is, by calls on a thread of their own: see tof_progress_call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "core/report/report.hpp"
#include "tools/c/tofstream.h"

namespace tofstream::c_api {

class ProgressCalls {
 public:
  /// `state`: the run as of now, safe from any thread. Throws Wrong for a time that cannot be.
  ProgressCalls(tof_progress_call call, void* user, double every_s, std::function<RunReport()> state);
  /// Waits for a call that is under way; no other follows.
  ~ProgressCalls();
  ProgressCalls(const ProgressCalls&) = delete;
  ProgressCalls& operator=(const ProgressCalls&) = delete;

  /// The run is over: the last call follows, and is not waited for.
  void finish();
  /// No further call begins.
  void stop();
  bool is_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void tell();
  bool tell_once();

  const tof_progress_call call_;
  void* const user_;
  const std::chrono::duration<double> every_;
  const std::function<RunReport()> state_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false, is_stopped_ = false;
  std::thread thread_;
};

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
