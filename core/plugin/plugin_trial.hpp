// Tries in a child process what may crash, hang or throw where no catch reaches, such as a library's static
// constructors.
#pragma once
#include <functional>
#include <string>

namespace tofstream {

// Calls `attempt` in a fork of this process, its output thrown away. Empty where it returned; else why not, in words
// that follow "it": the message of the exception that it threw, or the signal or exit that ended the child. A child
// that takes longer than 20 s is killed. Throws std::system_error where the system refuses a process.
std::string in_child_process(const std::function<void()>& attempt);

}  // namespace tofstream
