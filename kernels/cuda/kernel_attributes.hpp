// What the compiler and the device make of a kernel.
#pragma once

#include <cstddef>

namespace tofstream {

struct KernelAttributes {
  int threads = 0;               // a block
  int registers = 0;             // a thread
  std::size_t shared_bytes = 0;  // a block
  std::size_t local_bytes = 0;   // a thread, of registers that were spilled and arrays
  int blocks = 0;                // that a multiprocessor has at a time
  double occupancy = 0;          // their threads over the most that it can have
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
