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

/// Of "pipelines" the first sentence of the file's comment, of "scanners" and "phantoms" their description; sorted by
/// name. Those that cannot be read have no words.
std::vector<SharedLine> shared_lines(const std::string& kind);

/// The first sentence of the comment at the top of a pipeline's text, without its full stop; empty where there is none.
std::string first_sentence(std::string_view pipeline);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
