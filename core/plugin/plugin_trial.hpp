// Tries in a child process what may crash, hang, or throw where no catch reaches, such as the static constructors of a
// library.
#pragma once
#include <functional>
#include <string>

namespace tofstream {

// Calls `attempt` in a fork of this process and throws its output away. Returns nothing if it returned; else why it did
// not, in words that follow "it": the message of the exception that it threw, or the signal or exit that ended the
// child. A child that takes longer than 20 s is killed. Throws std::system_error if the system refuses a process.
std::string in_child_process(const std::function<void()>& attempt);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
