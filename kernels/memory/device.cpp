// The current CUDA device: see device.hpp.
#include "kernels/memory/device.hpp"

#include <exception>
#include <mutex>

#include "kernels/memory/memory.hpp"

#ifdef TOFSTREAM_HAVE_CUDA
#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#else
#include "kernels/memory/refuse.hpp"
#endif

namespace tofstream {

#ifdef TOFSTREAM_HAVE_CUDA
int multiprocessors() {
  require_cuda();
  int device = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "count multiprocessors");
  return count;
}
#else
int multiprocessors() {
  refuse_cuda();
}
#endif

namespace {

void set_up_device() noexcept {
  try {
    if (!why_no_cuda().empty()) return;
    const Buffer<char> first(Memory::device, 1, copy_stream());
  } catch (const std::exception&) {  // whoever uses the device meets the error again
  }
}

struct HeldSetUp {
  std::mutex mutex;
  std::weak_ptr<const DeviceSetUp> by_users;
};

HeldSetUp& held_set_up() {
  static HeldSetUp held;
  return held;
}

}  // namespace

std::shared_ptr<const DeviceSetUp> set_up_device_ahead() {
  HeldSetUp& held = held_set_up();
  const std::lock_guard lock(held.mutex);
  static const std::shared_future<void> done = std::async(std::launch::async, set_up_device).share();
  std::shared_ptr<const DeviceSetUp> here = held.by_users.lock();
  if (!here) held.by_users = here = std::make_shared<const DeviceSetUp>(done);
  return here;
}

bool device_is_used() {
  HeldSetUp& held = held_set_up();
  const std::lock_guard lock(held.mutex);
  return !held.by_users.expired() && why_no_cuda().empty();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
