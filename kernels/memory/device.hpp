// The current CUDA device: what it has, and setting it up.
#pragma once

#include <future>
#include <memory>
#include <utility>

namespace tofstream {

/// Its streaming multiprocessors. Throws std::runtime_error with why_no_cuda() where there is no device.
int multiprocessors();

/// Stands for a device that is being set up. Whoever began the set-up keeps this object until the program ends; the
/// last one to release it waits, since a process that exits during the set-up hangs in the driver.
class DeviceSetUp {
 public:
  explicit DeviceSetUp(std::shared_future<void> done) : done_(std::move(done)) {}
  DeviceSetUp(const DeviceSetUp&) = delete;
  DeviceSetUp& operator=(const DeviceSetUp&) = delete;
  ~DeviceSetUp() { done_.wait(); }

 private:
  std::shared_future<void> done_;
};

/// Begins to set the device up, once, while the caller goes on: this takes about 0.3 s, for which its first user would
/// have to wait. Does nothing where there is no device; errors are reported to the first user.
std::shared_ptr<const DeviceSetUp> set_up_device_ahead();

/// True where there is a device that somebody has begun to set up and still keeps.
bool device_is_used();

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
