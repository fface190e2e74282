// Batches from PETSIRD events: see batch_builder.hpp.
#include "gadgets/ring/batch_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/memory/bring.hpp"

namespace tofstream {

BatchBuilder::BatchBuilder(std::shared_ptr<const Scanner> scanner, petsird::TypePair types,
                           const std::vector<float>& tof_edges_mm, std::int64_t capacity, bool delayed)
    : scanner_(std::move(scanner)), capacity_(capacity), delayed_(delayed) {
  if (!scanner_->tof.empty()) tof_ = scanner_->tof[types.first * scanner_->types.size() + types.second];
  has_tof_ = tof_edges_mm.size() > 2 && tof_.sigma_mm > 0;
  for (std::size_t k = 0; k + 1 < tof_edges_mm.size(); ++k) {
    centre_mm_.push_back(0.5f * (tof_edges_mm[k] + tof_edges_mm[k + 1]));
    width_mm_.push_back(tof_edges_mm[k + 1] - tof_edges_mm[k]);
  }
  constexpr float rounding = 1e-4f;  // for widths meant to be equal
  for (const float width : width_mm_)
    equal_widths_ = equal_widths_ && std::abs(width - width_mm_.front()) <= rounding * width_mm_.front();
  if (has_tof_) tof_.bin_width_mm = width_mm_.front();
  const auto bins = [&](std::uint32_t type) {
    return BinToDetector{scanner_->types[type].first_detector, 1.0 / scanner_->types[type].energy_bins};
  };
  detector1_ = bins(types.first);
  detector2_ = bins(types.second);
  open_ = empty_batch();
}

EventBatch BatchBuilder::empty_batch() const {
  EventBatch batch;
  batch.scanner = scanner_;
  batch.detectors = scanner_->detectors;
  batch.delayed = delayed_;
  batch.detector1 = array_to_bring<std::uint32_t>(capacity_);
  batch.detector2 = array_to_bring<std::uint32_t>(capacity_);
  if (has_tof_) {
    batch.tof = tof_;
    batch.tof_mm = array_to_bring<float>(capacity_);
    if (!equal_widths_) batch.tof_width_mm = array_to_bring<float>(capacity_);
  }
  return batch;
}

petsird::PutEvents BatchBuilder::writer() {
  has_writer_ = true;
  return [this, slots = open_slots()](std::size_t first, std::span<const petsird::CoincidenceEvent> events) {
    write(slots, first, events);
  };
}

BatchBuilder::Slots BatchBuilder::open_slots() {
  Slots slots{.detector1 = open_.detector1.data() + count_, .detector2 = open_.detector2.data() + count_};
  if (has_tof_) slots.tof = open_.tof_mm.data() + count_;
  if (has_tof_ && !equal_widths_) slots.width = open_.tof_width_mm.data() + count_;
  return slots;
}

void BatchBuilder::write(const Slots& slots, std::size_t first,
                         std::span<const petsird::CoincidenceEvent> events) const {
  for (std::size_t i = 0; i < events.size(); ++i) {
    slots.detector1[first + i] = detector1_(events[i].bin1);
    slots.detector2[first + i] = detector2_(events[i].bin2);
  }
  if (slots.tof)
    for (std::size_t i = 0; i < events.size(); ++i) slots.tof[first + i] = centre_mm_[events[i].tof];
  if (slots.width)
    for (std::size_t i = 0; i < events.size(); ++i) slots.width[first + i] = width_mm_[events[i].tof];
}

void BatchBuilder::take_in(std::size_t events, const EventTimes& times) {
  if (count_ == 0) open_.start_s = times.first_s;
  if (times.each_stands_for_s != run_seconds_per_event_) end_run();
  run_seconds_per_event_ = times.each_stands_for_s;
  last_s_ = times.after(events).first_s;
  run_events_ += static_cast<std::int64_t>(events);
  count_ += static_cast<std::int64_t>(events);
}

void BatchBuilder::end_run() {
  open_.duration_s += run_seconds_per_event_ * static_cast<double>(std::exchange(run_events_, 0));
}

double BatchBuilder::end_s() const {
  return open_.start_s + open_.duration_s + run_seconds_per_event_ * static_cast<double>(run_events_);
}

EventBatch BatchBuilder::take() {
  end_run();
  if (open_.duration_s == 0) open_.start_s += 0.5 * (last_s_ - open_.start_s);
  EventBatch batch = std::exchange(open_, empty_batch());
  batch.count = std::exchange(count_, 0);
  if (!std::exchange(has_writer_, false)) trim(batch);
  return batch;
}

void trim(EventBatch& batch) {
  for_each_array(batch, [&]<class T>(Buffer<T>& array) {
    if (array.size() <= batch.count) return;
    if (batch.delayed && 4 * batch.count >= array.size()) {
      const auto all = std::make_shared<Buffer<T>>(std::move(array));
      array = Buffer<T>::adopt(all->data(), batch.count, all);
    } else {
      array = Buffer<T>::from(array.span().first(static_cast<std::size_t>(batch.count)));
    }
  });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
