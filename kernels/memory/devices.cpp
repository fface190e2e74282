// The program's memory pools, and the devices they lie on: see device_pool.hpp, devices.hpp.
#include "kernels/memory/devices.hpp"

#include "kernels/memory/memory.hpp"

#ifdef TOFSTREAM_HAVE_CUDA

#include <cstdint>
#include <map>
#include <mutex>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/device_pool.hpp"

namespace tofstream {

namespace {

// The device's default pool is shared with whatever else lives in the process, such as CuPy or PyTorch, and its
// attributes are not ours to set.
cudaMemPool_t make_pool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  check_cuda(cudaMemPoolCreate(&pool, &properties), "make a memory pool");
  // Memory that is given back stays with the program for its next request: else every synchronisation would return it
  // to the driver, whose allocations take milliseconds.
  std::uint64_t all = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "keep the device's memory");
  // Memory that was given back on one stream goes to another when it is free, not before: else the other would wait, so
  // that copies and kernels would hold each other up.
  int no = 0;
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no),
             "keep streams from waiting for each other's memory");
  return pool;
}

cudaMemPool_t pool_of(int device) {
  static std::mutex mutex;
  static std::map<int, cudaMemPool_t> pools;
  const std::lock_guard lock(mutex);
  cudaMemPool_t& pool = pools[device];
  if (!pool) pool = make_pool(device);
  return pool;
}

// Lets device `reader` reach the pool of device `owner`.
void let_reach(int reader, int owner) {
  int can = 0;
  check_cuda(cudaDeviceCanAccessPeer(&can, reader, owner), "ask whether GPUs reach each other's memory");
  if (can == 0) return;
  cudaMemAccessDesc access{};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = reader;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check_cuda(cudaMemPoolSetAccess(pool_of(owner), &access, 1), "let GPUs reach each other's memory");
}

}  // namespace

cudaMemPool_t detail::device_pool() {
  return pool_of(current_device());
}

int cuda_devices() {
  int devices = 0;
  if (why_no_cuda().empty()) check_cuda(cudaGetDeviceCount(&devices), "count the GPUs");
  return devices;
}

int current_device() {
  int device = 0;
  if (why_no_cuda().empty()) check_cuda(cudaGetDevice(&device), "find the current device");
  return device;
}

void use_device(int device) {
  if (why_no_cuda().empty()) check_cuda(cudaSetDevice(device), "use a GPU");
}

std::size_t all_device_bytes() {
  std::size_t free_bytes = 0, all = 0;
  if (why_no_cuda().empty()) check_cuda(cudaMemGetInfo(&free_bytes, &all), "read the device's memory");
  return all;
}

void share_device_memory(int devices) {
  for (int owner = 0; owner < devices; ++owner)
    for (int reader = 0; reader < devices; ++reader)
      if (reader != owner) let_reach(reader, owner);
}

}  // namespace tofstream

#else

namespace tofstream {

int cuda_devices() {
  return 0;
}

int current_device() {
  return 0;
}

void use_device(int) {}

std::size_t all_device_bytes() {
  return 0;
}

void share_device_memory(int) {}

}  // namespace tofstream

#endif
// SPDX-License-Identifier: Apache-2.0
