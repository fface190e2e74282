// The lines of projection data's bins and how efficiently each counts:
//
//   m = 1 / (normalisation x attenuation)     both as STIR has them: what counts are multiplied with
//
// Without a normalisation m has the number of detector pairs that the bin joins as a factor. A bin that joins several
// pairs is the line between the means of their ends, or on request each of these pairs (`spread`).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gadgets/io/interfile/bins.hpp"
#include "gadgets/io/interfile/projection_file.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::interfile {

/// Files of factors for each bin; empty: none.
struct FactorFiles {
  std::filesystem::path normalisation, attenuation;
};

class BinLines final : public RecordedLines {
 public:
  /// `most_segment`: segments from minus this to this count, in STIR's numbering; negative: all. `spread`: the pairs
  /// that a bin joins are projected one by one. Throws what
  /// ProjectionFile and read_projection_header throw, and std::runtime_error of one line for factors of other bins.
  BinLines(const ProjectionHeader& header, const FactorFiles& files, int most_segment, bool spread = false);

  std::int64_t size() const override { return bins_.size(); }
  EventBatch lines(std::int64_t begin, std::int64_t end) const override;
  std::string key() const override { return key_; }
  bool has_attenuation() const override { return attenuation_ != nullptr; }
  bool are_spread() const override { return is_spread_; }
  BinPairs pairs(std::span<const std::uint32_t> bins) const override;

  const Bins& bins() const { return bins_; }
  /// The scanner without its lines: these do not keep themselves alive.
  const std::shared_ptr<const Scanner>& scanner() const { return scanner_; }
  bool are_pairs() const { return bins_.are_pairs(); }
  bool is_used(int segment) const { return is_used_[static_cast<std::size_t>(segment)]; }
  bool has_factors() const { return normalisation_ || attenuation_ || !are_pairs(); }
  /// m of bins [begin, begin + result.size()); 0 for those that cannot count. Throws std::runtime_error, which names file
  /// and bin, for a factor that is negative or not finite.
  void efficiencies(std::int64_t begin, std::span<float> result) const;
  /// Detectors of a bin that is a pair.
  std::array<std::uint32_t, 2> pair(const BinPlace& place) const;
  /// The ends of any bin.
  std::array<Vec3, 2> ends(const BinPlace& place) const;

 private:
  std::unique_ptr<const ProjectionFile> open(const std::filesystem::path& file, const ProjectionHeader& header) const;
  void divide(const ProjectionFile* factors, std::int64_t begin, std::span<float> result) const;

  const ScannerFigures figures_;
  const Bins bins_;
  const bool is_spread_;
  std::shared_ptr<const Scanner> scanner_;
  std::vector<bool> is_used_;
  std::unique_ptr<const ProjectionFile> normalisation_, attenuation_;
  std::string key_;
};

/// Numbers of the segments, in the file's order: 0 is that of the smallest ring differences, as STIR counts. Throws
/// std::runtime_error where there is none whose differences are as large to either side.
std::vector<int> segment_numbers(const ProjectionHeader& header);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
