// Waiting for sockets and descriptors together.
#pragma once

#include <cerrno>
#include <chrono>
#include <span>

#include <zmq.hpp>

namespace tofstream {

/// Waits until an item is ready or the time is over (negative: for ever), as zmq::poll. A wait that the system breaks
/// off, as where the program was halted and goes on, is over with none ready: who calls looks and waits again. Throws
/// zmq::error_t.
inline void wait_for_any(std::span<zmq::pollitem_t> items, std::chrono::milliseconds longest) {
  for (auto& item : items) item.revents = 0;
  try {
    zmq::poll(items.data(), items.size(), longest);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
