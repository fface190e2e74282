// The kinds of scanners that this program knows: each is registered by its family, by TOFSTREAM_SCANNER, and whatever
// takes a scanner's file without being of a family finds in table_of<ScannerKind>() what to do with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/plugin/kind_table.hpp"
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

  static constexpr KindWords called = {"kind of scanner", "kinds of scanners", "key"};
  const std::string& id() const { return key; }
  std::string problem() const;
};

extern template KindTable<ScannerKind>& table_of<ScannerKind>();
extern template struct KindRegistration<ScannerKind>;

}  // namespace tofstream

// Registers a kind of scanner; what follows its key is as ScannerKind has it. Once, at namespace scope of a source
// file:
//
//     TOFSTREAM_SCANNER("plates", .words = "two plates", .header = plates_header, .simulator = "plate_simulator",
//                       .writer = "plate_writer");
#define TOFSTREAM_SCANNER(key_in_yaml, ...) \
  TOFSTREAM_KIND(::tofstream::ScannerKind, ::tofstream::ScannerKind{.key = key_in_yaml, __VA_ARGS__})
