// Data come from the host to the device beside whatever goes on there: by way of page-locked memory, on a stream of
// their own. From other memory the driver copies piece by piece, and threads that copy hold each other up in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/memory/device.hpp"
#include "kernels/memory/memory.hpp"

namespace tofstream {

/// The stream of such copies, which no other stream waits for. One for the program; null where there is no device.
Stream bring_stream();

/// A copy in device memory, complete on return. Several threads may bring data at a time. `Data`: with memory() and
/// to(memory, stream), such as EventBatch. Throws OutOfMemory where the device has no room.
template <class Data>
Data bring_to_device(const Data& data) {
  const auto copied = [](const Data& from) {
    Data there = from.to(Memory::device, bring_stream());
    synchronize(bring_stream());  // before the host's arrays go
    return there;
  };
  if (data.memory() != Memory::host) return copied(data);
  try {
    return copied(data.to(Memory::pinned));
  } catch (const OutOfMemory&) {  // the system locks no more pages
    return copied(data);
  }
}

/// True while what the program uses of page-locked memory, with so many bytes more, is at most a 32nd of what the host
/// had free when this was first asked: the system cannot move it.
bool few_bytes_are_pinned(std::size_t more);

/// An uninitialised array of host memory for data that go to a device later, if the program uses one: copies from
/// page-locked memory are several times as fast as others. Ordinary memory where the program uses no device, where much
/// is page-locked already, or where the system locks no more.
template <class T>
Buffer<T> array_to_bring(std::int64_t size) {
  if (device_is_used() && few_bytes_are_pinned(static_cast<std::size_t>(size) * sizeof(T))) try {
      return Buffer<T>(Memory::pinned, size);
    } catch (const OutOfMemory&) {
    }
  return Buffer<T>(Memory::host, size);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
