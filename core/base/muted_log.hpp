// Work that is done again and has nothing new to say.
#pragma once

namespace tofstream {

/// While it lives, gadgets write no log lines from the thread that made it.
class MutedLog {
 public:
  MutedLog() { ++depth(); }
  ~MutedLog() { --depth(); }
  MutedLog(const MutedLog&) = delete;
  MutedLog& operator=(const MutedLog&) = delete;
  static bool is_on() { return depth() > 0; }

 private:
  static int& depth();
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
