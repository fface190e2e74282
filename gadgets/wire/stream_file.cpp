// The table of the kinds of recordings: see stream_file.hpp.
#include "gadgets/wire/stream_file.hpp"

#include <algorithm>
#include <fstream>

#include "core/plugin/kind_table-inl.hpp"

namespace tofstream {

template KindTable<StreamFileKind>& table_of<StreamFileKind>();
template struct KindRegistration<StreamFileKind>;

const StreamFileKind* find_stream_file_kind(const std::filesystem::path& path) {
  constexpr std::size_t enough = 4096;
  std::string start(enough, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  const auto& kinds = table_of<StreamFileKind>();
  const auto found = std::ranges::find_if(kinds, [&](const StreamFileKind& kind) { return kind.holds(path, start); });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
