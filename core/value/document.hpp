// A YAML document as a tree of Values that know their place: aliases and merge keys (<<) are
// resolved, duplicate keys and several documents in one file are errors. The parser is yaml-cpp.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/value/value.hpp"

namespace tofstream {

// The document in `text`; `name` stands for the file in locations. Null where a problem was added
// or nothing is there.
Value parse_document(std::string_view text, const std::string& name, Problems& problems);

// As parse_document, from a file; one that is missing, a folder or unreadable is a problem.
Value load_document(const std::filesystem::path& file, Problems& problems);

// As load_document, of a file that another names at `mention`: what is wrong with the file as a whole has its place
// there.
Value load_from(const std::filesystem::path& file, const Location& mention, Problems& problems);

}  // namespace tofstream
