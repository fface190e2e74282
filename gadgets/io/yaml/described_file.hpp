// YAML files that structs describe, as gadgets' parameters are described (core/value/params.hpp): scanners, phantoms,
// normalisations, keys. They are read strictly, and every mistake is said with its place.
#pragma once

#include <filesystem>
#include <string>

#include "core/value/document.hpp"
#include "core/value/params.hpp"

namespace tofstream::formats {

/// Throws std::runtime_error of one line where there are problems: the first few, each "file:line:column: message".
void refuse_if_any(const Problems& problems);
/// Throws the same of one problem.
[[noreturn]] void refuse(const Location& where, const std::string& message);

/// The document in a file, or in `text`, which messages call `name`. Throws std::runtime_error of one line where it
/// cannot be read or is no YAML.
Value read_document(const std::filesystem::path& file);
Value parse_text(const std::string& text, const std::string& name);

/// The struct that a document, or a part of one, holds; what is wrong is added to the problems, beginning with `what`.
template <class T>
T described(const Value& document, const std::string& what, Problems& problems) {
  T read{};
  read_params(detail::infos_of<T>(), &read, {document, what, problems});
  return read;
}
/// The same; throws as refuse_if_any() does.
template <class T>
T described(const Value& document, const std::string& what) {
  Problems problems;
  T read = described<T>(document, what, problems);
  refuse_if_any(problems);
  return read;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
