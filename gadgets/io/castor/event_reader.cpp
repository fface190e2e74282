// Batches of CASToR's events: see event_reader.hpp.
#include "gadgets/io/castor/event_reader.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/math/even_order.hpp"

namespace tofstream::castor {
namespace {

constexpr std::uint64_t records_at_a_time = 1 << 20;  // of a histogram
constexpr std::int64_t grain = 4096;                  // records of a task

/// make(first, end) of stretches of [0, count), on all cores; what each made, in their order.
template <class Make>
auto in_stretches(std::uint64_t count, const Make& make) {
  constexpr std::uint64_t stretch = grain;
  std::vector<decltype(make(count, count))> made((count + stretch - 1) / stretch);
  tbb::parallel_for(std::size_t{0}, made.size(),
                    [&](std::size_t k) { made[k] = make(k * stretch, std::min(count, (k + 1) * stretch)); });
  return made;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

EventReader::EventReader(const DataHeader& header, std::shared_ptr<const Scanner> scanner, const ReadSettings& settings)
    : header_(header),
      settings_(settings),
      scanner_(std::move(scanner)),
      model_(header, scanner_, settings.tof, settings.reference_s),
      file_(header) {
  if (header.mode == DataMode::normalisation)
    throw std::runtime_error(fmt::format(
        "{}: this is a normalisation, which has no counts: name the header of list-mode or histogram data, and this "
        "one by `normalisation`",
        header.file.string()));
  if (header.mode == DataMode::list) find_times();
}

std::optional<EventBatch> EventReader::next() {
  return header_.mode == DataMode::list ? next_list() : next_bins();
}

std::uint32_t EventReader::time_ms(std::uint64_t event) {
  file_.read(event, 1, bytes_);
  return file_.event(bytes_, 0).time_ms();
}

// A batch begins at the time of its first event. Batches that begin in the same ms share the time until the next one.
void EventReader::find_times() {
  const auto batch = static_cast<std::uint64_t>(settings_.batch_events);
  const double end_s = header_.start_s + header_.duration_s;
  for (std::uint64_t first = 0; first < header_.events; first += batch) begins_s_.push_back(time_ms(first) * 1e-3);
  const double last_s = time_ms(header_.events - 1) * 1e-3;
  constexpr double rounding_s = 2e-3;
  has_times_ = std::ranges::is_sorted(begins_s_) && begins_s_.front() < last_s &&
               begins_s_.front() >= header_.start_s - rounding_s && last_s <= end_s + rounding_s;
  begins_s_.front() = header_.start_s;
  begins_s_.push_back(end_s);
  const std::size_t batches = begins_s_.size() - 1;
  for (std::size_t k = 0; k < batches && !has_times_; ++k)
    begins_s_[k] =
        header_.start_s + header_.duration_s * static_cast<double>(k * batch) / static_cast<double>(header_.events);
  for (std::size_t k = 0; k < batches;) {
    std::size_t next = k + 1;
    while (next < batches && begins_s_[next] <= begins_s_[k]) ++next;
    const double from = begins_s_[k], to = std::max(from, begins_s_[next]);
    for (std::size_t j = k; j < next; ++j)
      begins_s_[j] = from + (to - from) * static_cast<double>(j - k) / static_cast<double>(next - k);
    k = next;
  }
}

// Reads the next records, and refuses the first of them that cannot be.
void EventReader::read_records(std::uint64_t count) {
  file_.read(read_, count, bytes_);
  constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> first_bad{nowhere};
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 4096), [&](const auto& range) {
    for (std::uint64_t i = range.begin(); i < range.end() && i < first_bad; ++i) {
      if (model_.wrong(file_.event(bytes_, i)).empty()) continue;
      std::uint64_t known = first_bad;
      while (i < known && !first_bad.compare_exchange_weak(known, i)) {
      }
    }
  });
  if (first_bad != nowhere)
    throw std::runtime_error(
        fmt::format("{}: {}", file_.place_of(read_ + first_bad), model_.wrong(file_.event(bytes_, first_bad))));
}

EventBatch EventReader::batch_of(const std::vector<ModelEvent>& events, double begin, double end) const {
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(events.size());
  batch.scanner = scanner_;
  if (!model_.has_lines()) batch.detectors = scanner_->detectors;
  batch.tof = model_.tof();
  batch.start_s = begin;
  batch.duration_s = end - begin;
  const auto fill = [&]<class T>(bool is_there, Buffer<T>& array, auto of) {
    if (!is_there) return;
    array = Buffer<T>(Memory::host, batch.count);
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, batch.count, grain), [&](const auto& range) {
      for (std::int64_t i = range.begin(); i < range.end(); ++i) array[i] = of(events[static_cast<std::size_t>(i)]);
    });
  };
  fill(!model_.has_lines(), batch.detector1, [](const ModelEvent& event) { return event.detector1; });
  fill(!model_.has_lines(), batch.detector2, [](const ModelEvent& event) { return event.detector2; });
  for (int e = 0; e < 6; ++e)
    fill(model_.has_lines(), batch.ends[e],
         [e](const ModelEvent& event) { return (e < 3 ? event.line.end1 : event.line.end2)[e % 3]; });
  fill(model_.has_tof(), batch.tof_mm, [](const ModelEvent& event) { return event.line.tof_mm; });
  fill(model_.has_multiplicative(), batch.multiplicative, [](const ModelEvent& event) { return event.multiplicative; });
  fill(model_.has_additive(), batch.additive, [](const ModelEvent& event) { return event.additive; });
  fill(model_.has_counts(), batch.counts, [](const ModelEvent& event) { return event.counts; });
  return batch;
}

// Those of records that were read which can have been recorded.
std::vector<ModelEvent> EventReader::events_of(std::uint64_t first, std::uint64_t end) const {
  std::vector<ModelEvent> made;
  made.reserve(end - first);
  for (std::uint64_t i = first; i < end; ++i) {
    const RecordView record = file_.event(bytes_, i);
    if (!EventModel::is_impossible(record)) made.push_back(model_.event(record));
  }
  return made;
}

std::optional<EventBatch> EventReader::next_list() {
  const std::uint64_t count = std::min(static_cast<std::uint64_t>(settings_.batch_events), header_.events - read_);
  if (count == 0) return std::nullopt;
  read_records(count);
  std::vector<ModelEvent> events;
  events.reserve(count);
  for (const auto& some :
       in_stretches(count, [&](std::uint64_t first, std::uint64_t end) { return events_of(first, end); }))
    append(events, some);
  const auto k = static_cast<std::size_t>(read_ / static_cast<std::uint64_t>(settings_.batch_events));
  read_ += count;
  received_ += count;
  impossible_ += count - events.size();
  return batch_of(events, begins_s_[k], begins_s_[k + 1]);
}

// Those of records that were read.
EventReader::Bins EventReader::bins_of(std::uint64_t first, std::uint64_t end) const {
  Bins made;
  for (std::uint64_t i = first; i < end; ++i) {
    const RecordView record = file_.event(bytes_, i);
    const bool is_impossible = EventModel::is_impossible(record);
    model_.for_each_bin(record, [&](const ModelEvent& bin) {
      const auto counts = static_cast<std::uint64_t>(bin.counts);
      made.received += counts;
      if (counts == 0) ++made.empty;
      if (is_impossible) made.impossible += counts;
      if (counts > 0 && !is_impossible) made.counted.push_back(bin);
    });
  }
  return made;
}

void EventReader::read_bins() {
  while (read_ < header_.events) {
    const std::uint64_t count = std::min(records_at_a_time, header_.events - read_);
    read_records(count);
    for (const Bins& some :
         in_stretches(count, [&](std::uint64_t first, std::uint64_t end) { return bins_of(first, end); })) {
      append(bins_, some.counted);
      received_ += some.received;
      impossible_ += some.impossible;
      empty_bins_ += some.empty;
    }
    read_ += count;
  }
}

std::optional<EventBatch> EventReader::next_bins() {
  if (read_ == 0) read_bins();
  if (given_ == bins_.size()) return std::nullopt;
  const std::size_t end = std::min(bins_.size(), given_ + static_cast<std::size_t>(settings_.batch_events));
  const std::size_t step = even_step(bins_.size());
  std::vector<ModelEvent> events;
  events.reserve(end - given_);
  for (std::size_t i = given_; i < end; ++i, at_ = (at_ + step) % bins_.size()) events.push_back(bins_[at_]);
  const auto at = [&](std::size_t i) {
    return header_.start_s + header_.duration_s * static_cast<double>(i) / static_cast<double>(bins_.size());
  };
  const double begin = at(std::exchange(given_, end));
  return batch_of(events, begin, at(end));
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
