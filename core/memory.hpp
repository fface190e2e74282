// What a gadget says of its memory before anything is allocated: `static MemoryNeed memory(const Params&)`.
#pragma once
#include <cstddef>

namespace tofstream {

struct MemoryNeed {
  std::size_t host_bytes = 0;     // held from construction to the end
  std::size_t device_bytes = 0;   // likewise, on the GPU
  std::size_t message_bytes = 0;  // of one message that it gives; 0: unknown before the run
};

}  // namespace tofstream
