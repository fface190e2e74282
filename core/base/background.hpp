// Work that may take long and that nobody waits for: it gets the time that everything else in the program, and on the
// machine, leaves.
#pragma once

#include <functional>

namespace tofstream {

/// Calls `work` on this thread, which stays of low priority to the operating system; loops of oneTBB within it get
/// workers that no other loop asks for. The values that such loops compute are those of any other thread. Throws what
/// `work` throws.
void in_background(const std::function<void()>& work);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
