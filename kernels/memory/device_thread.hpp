// A thread that works on one CUDA device.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace tofstream {

/// Runs what it is given, one after the other, on a thread whose current device is always the same.
class DeviceThread {
 public:
  /// Throws what use_device() throws.
  explicit DeviceThread(int device);
  /// Waits for what has been given.
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  /// Begins the work when the one before has ended; the future gives what it throws. Throws std::logic_error where one
  /// waits already.
  std::future<void> begin(std::function<void()> work);

 private:
  void run(std::stop_token stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::packaged_task<void()> work_;
  bool has_work_ = false;
  std::jthread thread_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
