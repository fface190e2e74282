// A YAML document as a tree of Values that know their place: aliases and merge keys (<<) are
// resolved, duplicate keys and several documents in one file are errors. The parser is yaml-cpp.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/value/value.hpp"

namespace tofstream {

// The document in `text`; `name` stands for the file in locations. Null if a problem was added
// or the text is empty.
Value parse_document(std::string_view text, const std::string& name, Problems& problems);

// As parse_document, from a file; a file that is missing, unreadable or a folder is a problem.
Value load_document(const std::filesystem::path& file, Problems& problems);

// As load_document, for a file that another file names at `mention`: a problem with the file as a whole is reported at
// that place.
Value load_from(const std::filesystem::path& file, const Location& mention, Problems& problems);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
