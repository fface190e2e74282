// What a new process is given: the words of its command, and its environment, as exec takes them.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tofstream {

// To each text, and a null pointer at the end. They point into `texts`, which must stay as it is.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

// This process's own, with these variables ("NAME" and its value) in place of those of the same names.
std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::string>> variables);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
