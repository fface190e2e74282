// The current CUDA device: what it has, and setting it up.
#pragma once

#include <future>
#include <memory>
#include <utility>

namespace tofstream {

/// Its streaming multiprocessors. Throws std::runtime_error with why_no_cuda() where there is no device.
int multiprocessors();

/// That the device is being set up. Who has begun it holds this until the end, where the last holder waits: a process
/// that exits meanwhile hangs in the driver.
class DeviceSetUp {
 public:
  explicit DeviceSetUp(std::shared_future<void> done) : done_(std::move(done)) {}
  DeviceSetUp(const DeviceSetUp&) = delete;
  DeviceSetUp& operator=(const DeviceSetUp&) = delete;
  ~DeviceSetUp() { done_.wait(); }

 private:
  std::shared_future<void> done_;
};

/// Begins to set the device up, once, beside what the caller does: that takes some 0.3 s, for which the first to use it
/// would wait. Nothing to do where there is none; what goes wrong is told to who uses it.
std::shared_ptr<const DeviceSetUp> set_up_device_ahead();

}  // namespace tofstream
