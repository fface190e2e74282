// What the keys of an Interfile header of projection data mean, in the dialects of STIR, SIMIND and GATE, which are in
// share/doc/spect-files.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/io/interfile/header.hpp"
#include "gadgets/io/raw_pixels.hpp"
#include "gadgets/spect/io/view_reader.hpp"
#include "kernels/types/quantity.hpp"
#include "kernels/types/views.hpp"

namespace tofstream::formats {

enum class InterfileDialect { general, simind, gate };

/// The views that one head takes.
struct InterfileRun {
  int views = 0;
  double start_deg = 0, extent_deg = 0, duration_s = 0;
  RotationDirection direction = RotationDirection::cw;
  std::vector<double> radii_mm;  // of each view
};

struct InterfileData {
  std::filesystem::path path;
  RawPixels pixels;
  std::int64_t offset = 0;
};

/// What a header of projection data says. Every function throws as InterfileHeader::refuse does.
class InterfileStudy {
 public:
  /// `path`: where the header lies, for files beside it; empty: nowhere, as of a stream, and no file is opened.
  InterfileStudy(InterfileHeader header, std::filesystem::path path, const ViewOverrides& overrides);

  InterfileDialect dialect() const { return dialect_; }
  int views() const { return views_; }
  int windows() const { return static_cast<int>(windows_.size()); }
  /// What the header leaves open, a line each.
  std::vector<std::string> notes() const;
  /// Not validated.
  ViewSet set() const;
  /// What the data show: simulated ones of ours say which effects they contain.
  Quantity quantity() const;
  /// Where the data lie, which must be there.
  InterfileData data() const;
  /// Bytes that the header describes, from the data's beginning.
  std::int64_t data_bytes(const ViewSet& set, const RawPixels& pixels) const {
    return std::int64_t{views_} * windows() * set.pixels() * pixels.bytes;
  }
  /// The place in the set of the file's window: the one that is reconstructed is first.
  int place_of_window(int window) const {
    const int chosen = overrides_.window - 1;
    return window == chosen ? 0 : window < chosen ? window + 1 : window;
  }

 private:
  InterfileDialect find_dialect() const;
  const InterfileEntry* in_section(std::string_view key, int index, int section) const;
  const InterfileEntry& needed(std::string_view key, int index, int section) const;
  void refuse_other_studies() const;
  void count_sections();
  void check_number_of_images() const;
  InterfileRun run_of(int head) const;
  RotationDirection direction_of(int section) const;
  std::vector<double> radii_of(int section, int views) const;
  std::vector<double> radii_of_orbit_file(const InterfileEntry* named, int views) const;
  double mm(const InterfileEntry& entry, double value) const;
  void apply_view_lists(ViewSet& set) const;
  std::vector<EnergyWindow> energy_windows() const;
  EnergyWindow energy_window(int number) const;
  RawPixels pixel_format() const;
  std::int64_t data_offset() const;

  std::filesystem::path path_;
  const ViewOverrides overrides_;
  InterfileHeader header_;
  InterfileDialect dialect_;
  int sections_ = 1, heads_ = 1, number_of_windows_ = 1, views_ = 0;
  std::vector<InterfileRun> runs_;
  std::vector<EnergyWindow> windows_;
};

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
