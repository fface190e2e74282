// What `tofstream inspect` can say of files that a family of scanners has formats of its own for. A family registers each
// kind by TOFSTREAM_INSPECTS; PETSIRD, journals and images are known to all.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/plugin/kind_table.hpp"

namespace tofstream {

struct FileInspector {
  std::string name;        // "projections"
  std::string words = {};  // what such a file is, in a list: "projection data of a gamma camera"
  /// Whether a file is of this kind, by its name and its first bytes. Throws for no file.
  bool (*knows)(const std::filesystem::path& file) = nullptr;
  /// What the file holds, found by reading all of it. Throws std::runtime_error of one line for a file that is wrong.
  nlohmann::ordered_json (*read)(const std::filesystem::path& file) = nullptr;
  /// The same for people: a line each, ended by '\n'.
  std::string (*in_words)(const nlohmann::ordered_json& held) = nullptr;

  static constexpr KindWords called = {"kind of file", "kinds of files", "name"};
  const std::string& id() const { return name; }
  std::string problem() const;
};

extern template KindTable<FileInspector>& table_of<FileInspector>();
extern template struct KindRegistration<FileInspector>;

/// The kind that knows the file; null where none does.
const FileInspector* inspector_of(const std::filesystem::path& file);

}  // namespace tofstream

// Registers a kind of file: its name, then members of FileInspector. Once, at namespace scope of a source file.
#define TOFSTREAM_INSPECTS(kind_name, ...) \
  TOFSTREAM_KIND(::tofstream::FileInspector, ::tofstream::FileInspector{.name = kind_name, __VA_ARGS__})
// SPDX-License-Identifier: Apache-2.0
