// Where memory lies that someone else allocated.
#pragma once

namespace tofstream {

enum class PointerPlace {
  host,          // of the host, pinned or not
  device,        // of the current CUDA device, or managed, which every device reads
  other_device,  // of another CUDA device
};

/// As the driver knows the pointer; host where it does not, or where there is no CUDA.
PointerPlace place_of(const void* pointer);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
