// The kinds of scanners that this program knows. A family registers each by TOFSTREAM_SCANNER; code that takes any
// scanner's file finds in table_of<ScannerKind>() what to do with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/plugin/kind_table.hpp"
#include "gadgets/io/petsird/header.hpp"

namespace tofstream {

/// The PETSIRD header of a scanner's file, with which a stream or a recording describes its scanner.
struct ScannerHeader {
  petsird::Header header;
  bool has_efficiencies = true;  // false if the header cannot hold them; images then have no absolute scale
};

struct ScannerKind {
  std::string key;         // of a scanner's YAML: a file that has it is of this kind
  std::string words = {};  // what such a scanner is, in messages: "a ring of crystals"
  /// For a kind that PETSIRD cannot describe: throws std::runtime_error, one line file:line:column: message, for a wrong
  /// file. Others have `header`, which does.
  void (*check)(const std::filesystem::path& file) = nullptr;
  /// The header of a file of this kind; crystals' efficiencies are uniform from 1 minus `crystal_efficiency_spread` to
  /// 1, if the kind has any. Throws std::runtime_error, one line file:line:column: message, for a wrong file,
  /// std::invalid_argument for a scanner that a header cannot hold.
  ScannerHeader (*header)(const std::filesystem::path& file, double crystal_efficiency_spread) = nullptr;
  bool petsird_holds_events = false;  // an event is a pair of the header's detectors, with or without ToF
  std::string simulator = {};         // the gadget by which `tofstream simulate` makes events; empty: none
  std::string writer = {};            // the gadget that then writes them to a file

  static constexpr KindWords called = {"kind of scanner", "kinds of scanners", "key"};
  const std::string& id() const { return key; }
  std::string problem() const;
};

extern template KindTable<ScannerKind>& table_of<ScannerKind>();
extern template struct KindRegistration<ScannerKind>;

}  // namespace tofstream

// Registers a kind of scanner: its key, then members of ScannerKind. Once, at namespace scope of a source file:
//
//     TOFSTREAM_SCANNER("plates", .words = "two plates", .header = plates_header, .simulator = "plate_simulator",
//                       .writer = "plate_writer");
#define TOFSTREAM_SCANNER(key_in_yaml, ...) \
  TOFSTREAM_KIND(::tofstream::ScannerKind, ::tofstream::ScannerKind{.key = key_in_yaml, __VA_ARGS__})
// SPDX-License-Identifier: Apache-2.0
