// The CUDA devices of this host. A thread works on its current device, which is the first one unless it takes another.
#pragma once

#include <cstddef>

namespace tofstream {

/// Devices that CUDA can use; 0 where there are none.
int cuda_devices();

/// The number of the calling thread's current device, from 0; 0 where there is none.
int current_device();

/// Makes the device the calling thread's current one: memory that the thread asks for lies there, and what it queues
/// runs there. Nothing to do where there are no devices. Throws std::runtime_error for a device that does not exist.
void use_device(int device);

/// All memory of the calling thread's current device, used or not; 0 where there is none.
std::size_t all_device_bytes();

/// From now on each of the first `devices` devices reaches the memory of the others that this program asks for, where
/// the hardware lets it; else copies between them go through the host.
void share_device_memory(int devices);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
