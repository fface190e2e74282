// The kinds of scanners that this program knows: each is registered by its family, by TOFSTREAM_SCANNER, and whatever
// takes a scanner's file without being of a family finds there what to do with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/gadget/registry.hpp"
#include "core/plugin/abi.hpp"
#include "gadgets/io/petsird/header.hpp"

namespace tofstream {

/// The PETSIRD header of a scanner's file, by which a stream or a recording says what its events are of.
struct ScannerHeader {
  petsird::Header header;
  bool has_efficiencies = true;  // false where its tables would be too large: images are then on no absolute scale
};

struct ScannerKind {
  std::string key;         // of a scanner's YAML: a file that has it is of this kind
  std::string words = {};  // what such a scanner is, in messages: "a ring of crystals"
  /// The header of a file of this kind; crystals' efficiencies are uniform from 1 minus `crystal_efficiency_spread` to
  /// 1, where the kind has any. Throws std::runtime_error of one line, file:line:column: message, for a file that is
  /// wrong, std::invalid_argument for a scanner that a header cannot hold.
  ScannerHeader (*header)(const std::filesystem::path& file, double crystal_efficiency_spread) = nullptr;
  bool petsird_holds_events = false;  // each is a pair of the header's detectors, with at most a ToF
  std::string simulator = {};         // the gadget that `tofstream simulate` makes its events by; empty: none
  std::string writer = {};            // the one that writes them to a file then
};

/// Sorted by their keys.
const std::vector<ScannerKind>& scanner_kinds();
/// The kind of this key. Throws std::out_of_range where there is none.
const ScannerKind& scanner_kind(std::string_view key);

/// Why this kind may not be added, in one line: its key is taken or empty, or it has no header; empty where it may.
std::string problem_of(const ScannerKind& kind);
/// Adds a kind that has no problem. Not while other threads look kinds up; those that were looked up before move.
void add_scanner_kind(ScannerKind kind);

/// A hash of the sizes of what a kind hands over, as who includes this header sees them.
inline constexpr std::uint64_t scanner_kind_layout = detail::layout_of<ScannerKind, ScannerHeader>();

/// Adds a kind when the program or plug-in is loaded; one of another layout is refused, and not looked at.
struct ScannerRegistration {
  ScannerRegistration(const ScannerKind& kind, std::uint64_t layout);
};

}  // namespace tofstream

// Registers a kind of scanner; what follows its key is as ScannerKind has it. Once, at namespace scope of a source
// file:
//
//     TOFSTREAM_SCANNER("plates", .words = "two plates", .header = plates_header, .simulator = "plate_simulator",
//                       .writer = "plate_writer");
#define TOFSTREAM_SCANNER(key_in_yaml, ...)                                                         \
  namespace {                                                                                       \
  const ::tofstream::ScannerRegistration TOFSTREAM_UNIQUE_NAME(scanner_registration_, __COUNTER__)( \
      ::tofstream::ScannerKind{.key = key_in_yaml, __VA_ARGS__}, ::tofstream::scanner_kind_layout); \
  }                                                                                                 \
  static_assert(true, "TOFSTREAM_SCANNER is followed by a semicolon")
