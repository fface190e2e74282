// The table of the kinds of recordings: see stream_file.hpp.
#include "gadgets/wire/stream_file.hpp"

#include <algorithm>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<StreamFileKind>& table_of<StreamFileKind>();
template struct KindRegistration<StreamFileKind>;

std::string stream_files_in_words() {
  std::string words = "a PETSIRD file";
  for (const StreamFileKind& kind : table_of<StreamFileKind>()) words += ", " + kind.name;
  return words;
}

const StreamFileKind* find_stream_file_kind(const std::filesystem::path& path) {
  const auto& kinds = table_of<StreamFileKind>();
  const auto found = std::ranges::find_if(kinds, [&](const StreamFileKind& kind) { return kind.holds(path); });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
