// The table of the kinds of files that families can inspect: see file_inspectors.hpp.
#include "gadgets/io/file_inspectors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<FileInspector>& table_of<FileInspector>();
template struct KindRegistration<FileInspector>;

std::string FileInspector::problem() const {
  if (!name.empty() && knows && read && in_words) return "";
  return fmt::format("the kind of file '{}' lacks its name, or one of knows, read and in_words", name);
}

const FileInspector* inspector_of(const std::filesystem::path& file) {
  for (const FileInspector& kind : table_of<FileInspector>())
    if (kind.knows(file)) return &kind;
  return nullptr;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
