// Histograms events into projection data as STIR reads them: a header (.hs), float numbers (.s) and, for a scanner whose
// detectors do not lie evenly on a cylinder, its crystals' places (.txt).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "gadgets/io/interfile/bins.hpp"
#include "gadgets/io/interfile/projection_header.hpp"
#include "gadgets/io/interfile/rings.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::interfile {

struct BinWish {
  int span = 1;                   // ring differences that a segment joins; odd
  int mashing = 1;                // views that a view joins
  int most_ring_difference = -1;  // negative: all
  int tangential = 0;             // positions; 0: all
  bool tof = true;
  int tof_bins = 0;       // of events whose ToF has no bins
  double tof_bin_ps = 0;  // the same, of the difference of arrival times
};

/// The files that belong to the header `scan.hs`.
struct ProjectionFiles {
  std::filesystem::path header, data, crystals;
  explicit ProjectionFiles(const std::filesystem::path& header_file);
};

class BinWriter {
 public:
  BinWriter(const std::filesystem::path& header_file, const BinWish& wish);

  /// What became of a batch's counts.
  struct Taken {
    std::uint64_t written = 0, beside_bins = 0, beside_tof = 0;
  };
  /// Takes host events of detectors, and bins with counts. Throws std::runtime_error of one line for events that the
  /// bins cannot hold: of no detectors or another scanner, a ToF without bins where the wish states none.
  Taken take(const EventBatch& batch);
  std::uint64_t counts() const { return counts_; }
  const ProjectionHeader& header() const { return header_; }
  /// Puts the files in their places, the header last. Throws std::runtime_error where nothing came, or a bin has more
  /// counts than a float holds exactly.
  void commit();
  /// Writes the efficiencies of the scanner's pairs as factors of the same bins, which counts are multiplied with: 0
  /// where no pair of a bin is in coincidence.
  void commit_normalisation(const std::filesystem::path& header_file) const;

 private:
  void begin(const EventBatch& batch);
  void begin_tof(const TofModel& tof, bool has_tof);
  std::optional<int> tof_place(float tof_mm, bool is_swapped) const;

  const ProjectionFiles files_;
  const BinWish wish_;
  std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  Rings rings_;
  ProjectionHeader header_;
  std::optional<Bins> bins_;
  std::vector<float> numbers_;
  std::uint64_t counts_ = 0;
  double end_s_ = 0;
};

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
