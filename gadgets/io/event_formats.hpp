// Formats of list mode and histograms that `tofstream convert` goes between. Each registers itself by TOFSTREAM_FORMAT;
// images are known to convert without it (image_file.hpp).
#pragma once

#include <filesystem>
#include <string>

#include "core/plugin/kind_table.hpp"

namespace tofstream {

/// What a file's data are, as far as formats can hold them.
enum class Holds { nothing, list, bins };

struct EventFormat {
  std::string name;        // "CASToR"
  std::string words = {};  // "CASToR's list mode"
  /// What a file of this format holds; nothing where it is of another. Null: the format is not read.
  Holds (*holds)(const std::filesystem::path& file) = nullptr;
  /// Gadgets that read such a file, as lines of a pipeline: the first, `feed`, has the parameter `path`; the last is
  /// `last`.
  std::string read = {}, last = "feed";
  std::string left_out = {};      // of its data what no other format holds, in words
  bool has_efficiencies = false;  // the data come with efficiencies of pairs
  bool asks_scanner = false;      // `feed` has the parameter `scanner`, and needs it

  std::string ending = {};  // of a file that is written; empty: the format is not written
  std::string writer = {};  // the gadget that writes it, with the parameter `file`
  bool takes_bins = false;
  bool takes_scanner = false;     // the writer has the parameter `scanner`, and does without it
  std::string efficiencies = {};  // the writer's parameter for a second file, with the efficiencies of pairs

  static constexpr KindWords called = {"format", "formats", "name"};
  const std::string& id() const { return name; }
  std::string problem() const;
};

extern template KindTable<EventFormat>& table_of<EventFormat>();
extern template struct KindRegistration<EventFormat>;

}  // namespace tofstream

// Registers a format: its name, then members of EventFormat. Once, at namespace scope of a source file.
#define TOFSTREAM_FORMAT(format_name, ...) \
  TOFSTREAM_KIND(::tofstream::EventFormat, ::tofstream::EventFormat{.name = format_name, __VA_ARGS__})
// SPDX-License-Identifier: Apache-2.0
