// A word in pinned memory by which the device says to the host that what it wrote there before is there. The host then
// waits for this alone, and neither for a copy nor for what is queued behind the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "kernels/cuda/check.hpp"

namespace tofstream {

/// Whoever sees the flag sees what the thread wrote before, and what it saw of other threads. `value` is not 0: what
/// the flag itself says need not be on its way before.
__device__ inline void raise_flag(std::uint32_t& flag, std::uint32_t value = 1) {
  __threadfence_system();
  *static_cast<volatile std::uint32_t*>(&flag) = value;
}

/// Until a kernel on the stream has raised the flag. The stream is asked now and then, since a kernel that failed
/// raises nothing. `purpose` completes the sentence "cannot ...".
inline void wait_for_flag(const std::uint32_t& flag, cudaStream_t stream, const char* purpose) {
  constexpr int looks_a_question = 256;
  const auto is_raised = [&] {
    return *static_cast<const volatile std::uint32_t*>(&flag) != 0;  // the device changes it
  };
  for (int looks = 1; !is_raised(); ++looks) {
    if (looks % looks_a_question != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaErrorNotReady) continue;
    check_cuda(status, purpose);
    if (!is_raised()) throw std::logic_error("a flag is waited for before the kernel that raises it is queued");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
