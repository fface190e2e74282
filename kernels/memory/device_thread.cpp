// A thread with a device of its own: see device_thread.hpp.
#include "kernels/memory/device_thread.hpp"

#include <stdexcept>
#include <utility>

#include "kernels/memory/devices.hpp"

namespace tofstream {

DeviceThread::DeviceThread(int device) {
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
  begin([device] { use_device(device); }).get();
}

DeviceThread::~DeviceThread() = default;

std::future<void> DeviceThread::begin(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> done = task.get_future();
  const std::lock_guard lock(mutex_);
  if (has_work_) throw std::logic_error("a device's thread was given work while other work waits");
  work_ = std::move(task);
  has_work_ = true;
  changed_.notify_one();
  return done;
}

void DeviceThread::run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return has_work_; })) {
    std::packaged_task<void()> work = std::move(work_);
    has_work_ = false;
    lock.unlock();
    work();
    work = {};  // what it holds goes on this thread
    lock.lock();
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
