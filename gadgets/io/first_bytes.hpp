// What a file is by its first bytes, for messages about one that cannot be read.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tofstream {

inline constexpr auto* petsird_name = "a PETSIRD stream";
inline constexpr auto* castor_name = "a CASToR header";
inline constexpr auto* root_name = "a ROOT file, such as GATE writes";

struct FileKind {
  std::string name;       // "a CASToR header", "an HDF5 file"; "text" and "unknown data" where nothing else is known
  std::string is_packed;  // the command that unpacks it, such as "zstd -d"; empty where it is not packed
};

/// `start`: as many of the first bytes as there are; a few hundred tell all kinds apart, nine most of them.
FileKind kind_of_file(std::span<const std::byte> start);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
