// Writes batches of events as list mode of CASToR's, or as a histogram, with the scanner. The four files appear by
// rename, the header last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/histogram_lines.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream::castor {

/// The files that belong to the header `scan.cdh`: its data (.cdf), and the scanner (.hscan, .lut).
struct WrittenFiles {
  std::filesystem::path header, data, scanner, table;
  explicit WrittenFiles(const std::filesystem::path& header_file);
};

class EventWriter {
 public:
  /// `reference_s`: the scan time that the events' additive terms are for. Throws std::runtime_error where a file cannot
  /// be made.
  EventWriter(const std::filesystem::path& header_file, double reference_s, bool as_histogram = false);

  /// Writes host events. The first batch says which fields all of them have: ToF, a normalisation factor where they
  /// have multiplicative terms, and a rate of scatter where they have additive ones. `part`, for all batches or for
  /// none: the same events with the terms of normalisation and of randoms alone. These are then written as such, and
  /// what else the events' terms contain is their attenuation factor and their rate of scatter; without it attenuation is in the
  /// normalisation, and randoms are in the scatter. Bins with counts, or events if `as_histogram`, make a histogram.
  /// Throws std::runtime_error of one line for events that the format or this file cannot hold.
  void write(const EventBatch& batch, const EventBatch* part = nullptr);
  std::uint64_t events() const { return events_; }
  bool is_histogram() const { return header_.mode == DataMode::histogram; }
  /// Puts the files in their places. Throws std::runtime_error where no event was written or they state no time.
  void commit();
  /// Whether a histogram that was committed lists all lines that can count, those without counts too.
  bool lists_all_lines() const { return lists_all_lines_; }

 private:
  void begin(const EventBatch& batch, const EventBatch* part);
  void begin_tof(const EventBatch& batch);
  void require_alike(const EventBatch& batch, const EventBatch* part) const;
  Record record_of(const EventBatch& batch, const EventBatch* part, std::int64_t i) const;
  void write_list(const EventBatch& batch, const EventBatch* part);
  void take_bins(const EventBatch& batch, const EventBatch* part);
  void write_bins();
  void write_records(const std::vector<Record>& records);
  void write_scanner();

  const WrittenFiles files_;
  const double reference_s_;
  const bool as_histogram_;
  AtomicFile header_file_, data_file_, scanner_file_, table_file_;
  DataHeader header_;
  bool has_part_ = false, lists_all_lines_ = false;
  HistogramLines lines_;
  std::uint64_t events_ = 0;
  std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  double end_s_ = 0;
  float furthest_mm_ = 0;  // ToF
  std::vector<std::byte> bytes_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
