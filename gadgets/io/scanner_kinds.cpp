// The table of the kinds of scanners: see scanner_kinds.hpp.
#include "gadgets/io/scanner_kinds.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::vector<ScannerKind>& table() {
  static std::vector<ScannerKind> kinds;
  return kinds;
}

}  // namespace

const std::vector<ScannerKind>& scanner_kinds() {
  return table();
}

const ScannerKind& scanner_kind(std::string_view key) {
  const auto found = std::ranges::find(table(), key, &ScannerKind::key);
  if (found == table().end()) throw std::out_of_range(fmt::format("no kind of scanner has the key '{}'", key));
  return *found;
}

std::string problem_of(const ScannerKind& kind) {
  if (kind.key.empty() || !kind.header)
    return fmt::format("the kind of scanner '{}' lacks its key or its header", kind.key);
  if (std::ranges::find(table(), kind.key, &ScannerKind::key) != table().end())
    return fmt::format("two kinds of scanners have the key '{}': rename one", kind.key);
  return "";
}

void add_scanner_kind(ScannerKind kind) {
  const auto place = std::ranges::lower_bound(table(), kind.key, {}, &ScannerKind::key);
  table().insert(place, std::move(kind));
}

ScannerRegistration::ScannerRegistration(const ScannerKind& kind, std::uint64_t layout) {
  if (layout == scanner_kind_layout)
    registry().add(Extension{[kind] { return problem_of(kind); }, [kind] { add_scanner_kind(kind); }});
  else
    registry().add(refused_for_its_layout("its kind of scanner"));
}

}  // namespace tofstream
