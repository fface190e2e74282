// The events of a CASToR data file as batches, with their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gadgets/io/castor/data_file.hpp"
#include "gadgets/io/castor/data_header.hpp"
#include "gadgets/io/castor/event_model.hpp"
#include "kernels/types/events.hpp"

namespace tofstream::castor {

struct ReadSettings {
  std::int64_t batch_events = 1 << 18;
  bool tof = true;         // false: whole lines
  double reference_s = 1;  // scan time whose decays an image counts
};

class EventReader {
 public:
  /// Throws what DataFile and EventModel throw, and std::runtime_error for a normalisation, which has no counts.
  EventReader(const DataHeader& header, std::shared_ptr<const Scanner> scanner, const ReadSettings& settings);

  /// The next batch; nothing after the last one. The first batch of a histogram comes when all of it has been read. A
  /// histogram's bins come in an order in which any stretch of them is a fair sample of all. Throws std::runtime_error
  /// that names file, event and byte for an event that cannot be.
  std::optional<EventBatch> next();

  /// Coincidences that were read, and those of them that were left out since their factors are 0.
  std::uint64_t received() const { return received_; }
  std::uint64_t impossible() const { return impossible_; }
  /// Bins of a histogram without a count, which add nothing to EM's sum and are left out.
  std::uint64_t empty_bins() const { return empty_bins_; }
  /// How much of the file was read, from 0 to 1.
  double done() const { return static_cast<double>(read_) / static_cast<double>(header_.events); }
  /// Whether the events' times ascend within the scan. If they do not, and for a histogram, events are taken as evenly
  /// spread over it.
  bool has_times() const { return has_times_; }

 private:
  std::optional<EventBatch> next_list();
  std::optional<EventBatch> next_bins();
  void read_records(std::uint64_t count);
  std::vector<ModelEvent> events_of(std::uint64_t first, std::uint64_t end) const;
  /// Bins of a histogram.
  struct Bins {
    std::vector<ModelEvent> counted;
    std::uint64_t received = 0, impossible = 0, empty = 0;
  };
  Bins bins_of(std::uint64_t first, std::uint64_t end) const;
  void read_bins();
  void find_times();
  std::uint32_t time_ms(std::uint64_t event);
  EventBatch batch_of(const std::vector<ModelEvent>& events, double begin, double end) const;

  const DataHeader header_;
  const ReadSettings settings_;
  const std::shared_ptr<const Scanner> scanner_;
  const EventModel model_;
  DataFile file_;
  std::vector<std::byte> bytes_;
  std::vector<double> begins_s_;  // of batches of list mode, and the end of the last one
  bool has_times_ = false;
  std::uint64_t read_ = 0, received_ = 0, impossible_ = 0, empty_bins_ = 0;
  std::vector<ModelEvent> bins_;    // of a histogram, those with counts
  std::size_t given_ = 0, at_ = 0;  // how many of them, and which comes next
};

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
