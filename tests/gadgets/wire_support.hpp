// Streams for tests of the wire, in bytes: a toy scanner's header, frames of records or of PETSIRD.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/wire/records.hpp"
#include "tests/io/petsird_toy.hpp"

namespace tofstream::wire_test {

using Bytes = std::vector<std::byte>;

/// The toy scanner with ToF bins of equal width, as records need.
inline petsird::Header header() {
  petsird::Header made = petsird::toy::header();
  made.scanner.tof_bin_edges_mm[1][1] = {-40, -20, 0, 20, 40};
  return made;
}

/// A stream's frames: number 0 is the header, the last the end.
class StreamMaker {
 public:
  explicit StreamMaker(const petsird::Header& scanner = header(), std::uint64_t stream = 5)
      : writer_(
            [this](std::span<const std::byte> piece) { written_.insert(written_.end(), piece.begin(), piece.end()); },
            scanner),
        scanner_(petsird::to_scanner(scanner.scanner)),
        stream_(stream) {
    writer_.flush();
    whole_ = written_;
    frames_.push_back(
        wire::encode_frame({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird, .stream = stream_},
                           std::exchange(written_, {})));
  }

  /// `count` events of different detectors and ToF, 0.1 s of scan time.
  StreamMaker& records(std::uint32_t count) {
    EventBatch batch;
    batch.count = count;
    batch.detectors = scanner_->detectors;
    batch.start_s = 0.1 * static_cast<double>(frames_.size() - 1);
    batch.duration_s = 0.1;
    std::vector<std::uint32_t> first, second;
    std::vector<float> tof;
    for (std::uint32_t i = 0; i < count; ++i) {
      first.push_back(4 + (static_cast<std::uint32_t>(events_) + i) % 8);
      second.push_back(i % 4);
      tof.push_back(-40.0F + 20.0F * static_cast<float>(i % 5));
    }
    batch.detector1 = Buffer<std::uint32_t>::from(first);
    batch.detector2 = Buffer<std::uint32_t>::from(second);
    batch.tof_mm = Buffer<float>::from(tof);
    wire::FrameHeader frame = wire::record_header(batch);
    Bytes payload(count * wire::record_bytes(frame.schema));
    wire::write_records(batch, payload);
    return add(frame, payload);
  }

  /// One time block of 0.1 s with `count` prompts.
  StreamMaker& blocks(std::uint32_t count) {
    const auto begin = static_cast<std::uint32_t>(100 * (frames_.size() - 1));
    return block({begin, begin + 100}, petsird::toy::events(count, {24, 24, 5}, true));
  }
  /// One time block of such prompts.
  StreamMaker& block(petsird::TimeInterval interval, const std::vector<petsird::CoincidenceEvent>& prompts) {
    writer_.write_events(interval, {prompts});
    writer_.flush();
    whole_.insert(whole_.end(), written_.begin(), written_.end());
    const auto count = static_cast<std::uint32_t>(prompts.size());
    constexpr std::uint64_t ns_per_ms = 1000000;
    return add({.schema = wire::Schema::petsird,
                .events = count,
                .start_ns = ns_per_ms * interval.start_ms,
                .duration_ns = ns_per_ms * (interval.stop_ms - interval.start_ms)},
               std::exchange(written_, {}));
  }

  /// The frames, followed by the end.
  std::vector<Bytes> end() {
    whole_.push_back({});
    add({.kind = wire::FrameKind::end}, {});
    return frames_;
  }
  /// All payloads as one PETSIRD stream.
  const Bytes& whole() const { return whole_; }

 private:
  StreamMaker& add(wire::FrameHeader frame, const Bytes& payload) {
    frame.stream = stream_;
    frame.sequence = frames_.size();
    frame.first_event = events_;
    events_ += frame.events;
    frames_.push_back(wire::encode_frame(frame, payload));
    return *this;
  }

  Bytes written_, whole_;
  petsird::Writer writer_;
  std::shared_ptr<const Scanner> scanner_;
  std::uint64_t stream_, events_ = 0;
  std::vector<Bytes> frames_;
};

}  // namespace tofstream::wire_test
// SPDX-License-Identifier: Apache-2.0
