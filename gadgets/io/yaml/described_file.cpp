// Described YAML files: see described_file.hpp.
#include "gadgets/io/yaml/described_file.hpp"

#include <memory>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream::formats {
namespace {

// An empty document has no place of its own: its mistakes lie at the file's beginning.
Value placed(Value document, const std::string& name) {
  if (!document.where.file) relocate(document, {std::make_shared<const std::string>(name), 1, 1});
  return document;
}

}  // namespace

void refuse_if_any(const Problems& problems) {
  if (problems.empty()) return;
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < problems.all().size() && i < most; ++i)
    text += (i > 0 ? "; " : "") + problems.all()[i].text();
  if (problems.all().size() > most) text += fmt::format("; and {} more", problems.all().size() - most);
  throw std::runtime_error(text);
}

void refuse(const Location& where, const std::string& message) {
  throw std::runtime_error(Problem{where, message}.text());
}

Value read_document(const std::filesystem::path& file) {
  Problems problems;
  Value document = load_document(file, problems);
  refuse_if_any(problems);
  return placed(std::move(document), file.string());
}

Value parse_text(const std::string& text, const std::string& name) {
  Problems problems;
  Value document = parse_document(text, name, problems);
  refuse_if_any(problems);
  return placed(std::move(document), name);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
