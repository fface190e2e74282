// What a gadget says of its memory before anything is allocated: `static MemoryNeed memory(const Params&)`, with a
// further argument `std::span<const std::size_t> input_bytes` where it depends on the messages that it takes (bytes of
// one of each input; 0: unknown), and without the first where it has no parameters.
#pragma once
#include <cstddef>
#include <limits>

namespace tofstream {

struct MemoryNeed {
  std::size_t host_bytes = 0;     // held from construction to the end
  std::size_t device_bytes = 0;   // likewise, on the GPU
  std::size_t call_bytes = 0;     // besides, on the host while it works on one message
  std::size_t copy_bytes = 0;     // likewise, if its inputs lie on the GPU: for their copies on the host
  std::size_t message_bytes = 0;  // of one message that it gives; 0: unknown before the run
  std::size_t stream_bytes = 0;   // of all messages that it gives; 0: unknown before the run
  bool gives_on_device = false;   // its messages lie on the GPU
  bool lies_with_inputs = false;  // host_bytes and its messages: on the GPU if its inputs lie there
  bool is_limit = false;          // an upper limit, since the data decide; also for whoever reads its messages
  // Held where there is room: on the GPU if it is to be there, else on the host.
  std::size_t room_bytes = 0;   // besides the above
  bool room_on_device = false;  // where room_bytes and kept inputs are to be
  bool keeps_inputs = false;    // all that it takes, at worst on disk
  const char* lower = "";       // the parameter to lower if it does not fit
  const char* note = "";        // what cannot be known before the run
};

// a * b, or the largest number if that overflows: sizes come from parameters.
constexpr std::size_t memory_product(std::size_t a, std::size_t b) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  return b != 0 && a > most / b ? most : a * b;
}
constexpr std::size_t memory_sum(std::size_t a, std::size_t b) {
  return a + b < a ? std::numeric_limits<std::size_t>::max() : a + b;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
