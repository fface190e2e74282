// Writes batches of events as list mode of CASToR's, with the scanner. The four files appear by rename, the header last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/castor/data_header.hpp"
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
  EventWriter(const std::filesystem::path& header_file, double reference_s);

  /// Writes host events. The first batch says which fields all of them have: ToF, a normalisation factor where they have
  /// multiplicative terms (attenuation is in it), and a rate of scatter where they have additive ones (randoms are in
  /// it). Throws std::runtime_error of one line for events that the format or this file cannot hold.
  void write(const EventBatch& batch);
  std::uint64_t events() const { return header_.events; }
  /// Puts the files in their places. Throws std::runtime_error where no event was written or they state no time.
  void commit();

 private:
  void begin(const EventBatch& batch);
  void require_alike(const EventBatch& batch) const;
  void write_scanner();

  const WrittenFiles files_;
  const double reference_s_;
  AtomicFile header_file_, data_file_, scanner_file_, table_file_;
  DataHeader header_;
  std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  double end_s_ = 0;
  float furthest_mm_ = 0;  // ToF
  std::vector<std::byte> bytes_;
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
