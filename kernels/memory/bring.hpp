// Data come from the host to the device beside whatever goes on there: by way of page-locked memory, on a stream of
// their own. From other memory the driver copies piece by piece, and threads that copy hold each other up in it.
#pragma once

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

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
