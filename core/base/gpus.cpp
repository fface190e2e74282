#include "core/base/gpus.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tofstream {
namespace {

// "Model: \t\t NVIDIA H200"
std::string model_in(const std::filesystem::path& information) {
  std::ifstream file(information);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Model:")) continue;
    const std::size_t at = line.find_first_not_of(" \t", 6);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return {};
}

// The first word with a point in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build".
std::string version_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return {};
}

}  // namespace

Gpus gpus_of_this_machine(const std::filesystem::path& folder) {
  Gpus gpus{.names = {}, .driver = version_in(folder / "version")};
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "gpus", none))
    if (std::string model = model_in(entry.path() / "information"); !model.empty())
      gpus.names.push_back(std::move(model));
  std::ranges::sort(gpus.names);
  return gpus;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
