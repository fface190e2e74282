#include "core/base/muted_log.hpp"

namespace tofstream {

int& MutedLog::depth() {
  thread_local int depth = 0;
  return depth;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
