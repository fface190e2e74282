// See shared_lines.hpp.
#include "tools/command/shared_lines.hpp"

#include <cctype>
#include <fstream>
#include <sstream>
#include <string_view>

#include "core/value/document.hpp"
#include "gadgets/io/shared_files.hpp"

namespace tofstream::command {

namespace {

bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

// A full stop that ends no initial, as in 'J. Cui', and is followed by a new sentence or nothing.
bool ends_sentence(std::string_view text, std::size_t stop) {
  if (stop + 1 == text.size()) return true;
  const bool initial = stop > 0 && is_upper(text[stop - 1]);
  return !initial && stop + 2 < text.size() && text[stop + 1] == ' ' && is_upper(text[stop + 2]);
}

// The comment's lines as one, up to the first example, which is indented.
std::string comment_of(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    if (line.starts_with("# yaml-language-server:")) continue;
    if (line.starts_with("#  ")) break;
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  }
  return comment;
}

std::string description_of(const std::filesystem::path& file) {
  Problems problems;
  const Value document = load_document(file, problems);
  const Value* description = document.find("description");
  return description ? description->text : "";
}

std::string sentence_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return first_sentence(text.str());
}

}  // namespace

std::string first_sentence(std::string_view pipeline) {
  const std::string comment = comment_of(pipeline);
  for (std::size_t stop = comment.find('.'); stop != std::string::npos; stop = comment.find('.', stop + 1))
    if (ends_sentence(comment, stop)) return comment.substr(0, stop);
  return comment;
}

std::vector<SharedLine> shared_lines(const std::string& kind) {
  std::vector<SharedLine> lines;
  for (const std::string& name : shared_names(kind)) {
    const std::filesystem::path file = find_shared(kind, name);
    lines.push_back({name, kind == "pipelines" ? sentence_of(file) : description_of(file), file});
  }
  return lines;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
