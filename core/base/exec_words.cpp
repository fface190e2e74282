#include "core/base/exec_words.hpp"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace tofstream {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(std::span<const std::pair<std::string, std::string>> variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const bool is_replaced =
        std::ranges::any_of(variables, [&](const auto& own) { return text.starts_with(own.first + "="); });
    if (!is_replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
