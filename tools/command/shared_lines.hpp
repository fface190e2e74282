// What comes with the program by name, with a line each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tofstream::command {

struct SharedLine {
  std::string name, words;
  std::filesystem::path file;
};

/// What the files of a kind say of themselves, sorted by name: "pipelines" by the first sentence of the file's comment,
/// "scanners" and "phantoms" by their description. Those that cannot be read have no words.
std::vector<SharedLine> shared_lines(const std::string& kind);

/// The first sentence of the comment at the top of a pipeline's text, without its full stop; empty where there is none.
std::string first_sentence(std::string_view pipeline);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
