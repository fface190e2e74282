// Fills batches with PETSIRD events of one pair of module types: bins to detectors, ToF bins to mm.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gadgets/io/petsird/time_blocks.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// The times of consecutive events, evenly spread as their list says, and the scan time that each stands for: none if
/// another list of the same block stands for it.
struct EventTimes {
  double first_s = 0;
  double apart_s = 0;
  double each_stands_for_s = 0;
  /// The times of the events after the first `count`.
  EventTimes after(std::uint64_t count) const {
    return {first_s + static_cast<double>(count) * apart_s, apart_s, each_stands_for_s};
  }
};

class BatchBuilder {
 public:
  /// `tof_edges_mm`: edges of the pair's ToF bins; with one bin the events are non-ToF. `delayed` marks the batches.
  BatchBuilder(std::shared_ptr<const Scanner> scanner, petsird::TypePair types, const std::vector<float>& tof_edges_mm,
               std::int64_t capacity, bool delayed);

  /// How many events the open batch still takes.
  std::size_t room() const { return static_cast<std::size_t>(capacity_ - count_); }
  /// A function that writes events after those of the batch, within its room. Several threads may call it at once, even
  /// after take(); until they have finished, the batch from take() must be neither read nor destroyed.
  petsird::PutEvents writer();
  /// Writes events after those of the batch, within its room.
  void put(std::span<const petsird::CoincidenceEvent> events) { write(open_slots(), 0, events); }
  /// Takes `events` of those that were put. A batch begins at its first event; one that stands for no scan time gets a
  /// single time, the middle of its events.
  void take_in(std::size_t events, const EventTimes& times);
  std::int64_t count() const { return count_; }
  /// The time of the open batch's first event.
  double start_s() const { return open_.start_s; }
  /// Where the open batch's time ends: that of its first event plus the time that it stands for.
  double end_s() const;
  bool is_full() const { return count_ == capacity_; }
  bool takes_delayeds() const { return delayed_; }
  /// The events so far as a batch; the builder is empty afterwards. If writer() was used, the arrays may be longer.
  EventBatch take();

 private:
  // Detector of a bin: division by the number of energy bins as a product, exact for 32-bit bins since the half keeps
  // every quotient at least half a bin away from the next integer.
  struct BinToDetector {
    std::uint32_t first = 0;
    double inverse_energy_bins = 1;
    std::uint32_t operator()(std::uint32_t bin) const {
      return first + static_cast<std::uint32_t>((static_cast<double>(bin) + 0.5) * inverse_energy_bins);
    }
  };

  /// Where the next event is written.
  struct Slots {
    std::uint32_t *detector1 = nullptr, *detector2 = nullptr;
    float *tof = nullptr, *width = nullptr;
  };
  Slots open_slots();
  void write(const Slots& slots, std::size_t first, std::span<const petsird::CoincidenceEvent> events) const;

  EventBatch empty_batch() const;
  void end_run();

  std::shared_ptr<const Scanner> scanner_;
  TofModel tof_;
  std::vector<float> centre_mm_, width_mm_;
  bool has_tof_ = false, equal_widths_ = true;
  BinToDetector detector1_, detector2_;
  std::int64_t capacity_;
  bool delayed_;
  std::int64_t count_ = 0;
  // The last events, which stand for equal times. Their time is added once and not span by span, so that the batch's
  // time does not depend, to the last bit, on the pieces in which the bytes came.
  std::int64_t run_events_ = 0;
  double run_seconds_per_event_ = 0;
  double last_s_ = 0;  // when the last event's time ends
  EventBatch open_;
  bool has_writer_ = false;  // of events in the open batch
};

/// Makes the arrays as long as the batch. Those of delayeds that fill at least a quarter of their memory keep it: they
/// are counted and discarded, so a copy is not worth it.
void trim(EventBatch& batch);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
