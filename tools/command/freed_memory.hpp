// What becomes of memory that messages free: the next ones get it, and now and then it goes back to the system.
#pragma once

#include <thread>

namespace tofstream::command {

/// Made once, before there is any other thread. Freed blocks of any size are kept for the next message: the C library
/// would hand those of a mebibyte back to the system at once, which then clears every page anew, a third of the time of
/// decoding. But messages that come and go on many threads leave more and more free pieces over hours: once a minute
/// all that is free goes back. Does nothing with another C library than glibc.
class FreedMemory {
 public:
  FreedMemory();

 private:
  std::jthread trimming_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
