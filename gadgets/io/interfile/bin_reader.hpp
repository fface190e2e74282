// The bins of projection data as batches of events with counts, with their terms m and c T / m of share/doc/corrections.md
// ("Model and units"). STIR's additive projection data a are in the model's units but for the scan time D: its bins
// expect (A x + a) m in the whole scan, so that c T / m = a T / D. Backgrounds b are counts of the scan: c T / m =
// b T / (D m).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gadgets/io/interfile/bin_lines.hpp"
#include "gadgets/io/interfile/projection_file.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::interfile {

struct BinSettings {
  std::int64_t batch_events = 1 << 18;
  bool tof = true;         // false: whole lines
  double reference_s = 1;  // scan time whose decays an image counts
  double duration_s = 0;   // of the scan; 0: the header's
  int most_segment = -1;   // see BinLines
  bool spread = false;     // see BinLines
  FactorFiles factors = {};
  std::filesystem::path additive = {}, background = {};  // of the data's bins and ToF positions; empty: none
};

class BinReader {
 public:
  /// Throws what BinLines and ProjectionFile throw.
  BinReader(const ProjectionHeader& header, const BinSettings& settings);

  /// The next batch; nothing after the last one. The first comes when all bins have been read; they come in an order in
  /// which any stretch of them is a fair sample of all. Throws std::runtime_error that names file and bin for counts that
  /// are negative or not whole, and for terms that cannot be.
  std::optional<EventBatch> next();

  /// With the lines of the data.
  const std::shared_ptr<const Scanner>& scanner() const { return scanner_; }
  /// Counts that were read, and those of them in bins whose factors say that they cannot have counted.
  std::uint64_t received() const { return received_; }
  std::uint64_t impossible() const { return impossible_; }
  /// Counts in segments that are not used.
  std::uint64_t other_segments() const { return other_segments_; }
  /// Bins without a count, which add nothing to EM's sum and are left out.
  std::uint64_t empty_bins() const { return empty_bins_; }
  /// 0 where nobody says it.
  double duration_s() const { return duration_s_; }

 private:
  struct CountedBin {
    std::int64_t bin = 0;
    int tof_place = 0;
    float counts = 0, multiplicative = 1, additive = 0;
  };

  std::unique_ptr<const ProjectionFile> open(const std::filesystem::path& file) const;
  /// What a stretch of bins has.
  struct Piece {
    std::vector<CountedBin> bins;  // those with counts
    std::uint64_t received = 0, impossible = 0, other_segments = 0, empty = 0;
    std::exception_ptr error;
  };

  void read_bins();
  Piece read_piece(std::int64_t begin, std::int64_t count) const;
  void sum_tof(std::vector<std::vector<float>>& positions) const;
  void require_counts(std::span<float> numbers, std::int64_t begin, int tof_place) const;
  void take(CountedBin bin, float additive, float background, Piece& piece) const;
  EventBatch batch_of(const std::vector<CountedBin>& bins, double begin, double end) const;

  const ProjectionHeader header_;
  const BinSettings settings_;
  ProjectionFile file_;
  std::unique_ptr<const ProjectionFile> additive_, background_;
  std::shared_ptr<const BinLines> lines_;
  std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  double duration_s_ = 0;
  std::vector<CountedBin> bins_;  // those with counts
  bool is_read_ = false;
  std::size_t given_ = 0, at_ = 0;  // how many of them, and which comes next
  std::uint64_t received_ = 0, impossible_ = 0, other_segments_ = 0, empty_bins_ = 0;
};

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
