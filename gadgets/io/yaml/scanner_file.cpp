// The kind of a scanner's file: see scanner_file.hpp.
#include "gadgets/io/yaml/scanner_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "gadgets/io/yaml/yaml_object.hpp"

namespace tofstream::formats {
namespace {

bool has(const YAML::Node& root, const ScannerKind& kind) {
  return root.IsMap() && root[kind.key].IsDefined();
}

}  // namespace

const ScannerKind& scanner_kind_of(const std::filesystem::path& file) {
  const YAML::Node root = parse_yaml(read_text(file), file.string());
  const auto& kinds = scanner_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const ScannerKind& kind) { return has(root, kind); });
  if (found != kinds.end()) return *found;
  std::string known;
  for (const ScannerKind& kind : kinds)
    known += fmt::format("{}'{}' ({})", known.empty() ? "" : ", ", kind.key, kind.words);
  fail_at(root, file.string(), fmt::format("a scanner has one of the keys {}", known));
}

void refuse_other_kinds(const YAML::Node& root, const std::string& file, std::string_view key) {
  for (const ScannerKind& kind : scanner_kinds())
    if (kind.key != key && has(root, kind))
      fail_at(root[kind.key], file, fmt::format("this is {}, where {} is wanted", kind.words, scanner_kind(key).words));
}

}  // namespace tofstream::formats
