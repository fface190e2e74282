// Frames made beforehand: see premade_stream.hpp.
#include "tools/bench/premade_stream.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include <tbb/parallel_for.h>

#include "gadgets/io/petsird/tof_bins.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/wire/stream_header.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"

namespace tofstream::command {

namespace {

using Bytes = std::vector<std::byte>;
using Events = std::vector<petsird::CoincidenceEvent>;

constexpr std::uint32_t payloads = 8;  // drawn at random
constexpr std::uint32_t frame_ms = 10;

Events draw_any(std::mt19937& random, std::uint32_t detectors, std::uint32_t tof_bins, std::uint64_t count) {
  std::uniform_int_distribution<std::uint32_t> detector(1, detectors - 1), tof(0, tof_bins - 1);
  Events events(count);
  for (petsird::CoincidenceEvent& event : events) {
    event = {detector(random), 0, tof(random)};
    event.bin2 = detector(random) % event.bin1;
  }
  return events;
}

Events draw_crossing(const RingScanner& ring, const Grid& image, const petsird::BinEdges& edges_mm, std::uint64_t count,
                     std::uint64_t seed) {
  const EventBatch drawn = random_pairs(make_scanner(ring), image, static_cast<std::int64_t>(count), seed);
  Events events(count);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::uint32_t bin =
        drawn.tof_mm.empty() ? 0 : petsird::tof_bin_of(edges_mm, static_cast<double>(drawn.tof_mm[at]));
    events[i] = {drawn.detector1[at], drawn.detector2[at], bin};
  }
  return events;
}

Bytes records(const Events& events, const petsird::BinEdges& edges_mm) {
  Bytes payload(events.size() * wire::record_bytes(wire::Schema::tof_coincidences));
  auto* const detector1 = reinterpret_cast<std::uint32_t*>(payload.data());
  auto* const detector2 = detector1 + events.size();
  auto* const tof = reinterpret_cast<float*>(detector2 + events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    detector1[i] = events[i].bin1;
    detector2[i] = events[i].bin2;
    tof[i] = 0.5F * (edges_mm[events[i].tof] + edges_mm[events[i].tof + 1]);
  }
  return payload;
}

Bytes block(petsird::Writer& writer, Bytes& written, const Events& events, std::uint32_t begin_ms) {
  written.clear();
  writer.write_events({begin_ms, begin_ms + frame_ms}, {events});
  writer.flush();
  return written;
}

}  // namespace

PremadeStream premade_stream(const PremadeSettings& settings) {
  const auto& [scanner, schema, wanted, frame_events, image] = settings;
  const RingScanner ring = formats::read_ring_scanner(find_shared("scanners", scanner));
  petsird::Header header = petsird::header_of(ring).header;
  const petsird::BinEdges edges_mm = header.scanner.tof_bin_edges_mm.at(0).at(0);
  Bytes written;
  petsird::Writer writer(
      [&](std::span<const std::byte> piece) { written.insert(written.end(), piece.begin(), piece.end()); }, header);
  writer.flush();
  std::mt19937 random(1);
  std::vector<Bytes> drawn;
  std::vector<Events> crossing(payloads);
  if (image)
    tbb::parallel_for(0u, payloads,
                      [&](std::uint32_t k) { crossing[k] = draw_crossing(ring, *image, edges_mm, frame_events, k); });
  for (std::uint32_t k = 0; k < payloads; ++k) {
    const Events some = image ? std::exchange(crossing[k], {})
                              : draw_any(random, static_cast<std::uint32_t>(ring.detectors()),
                                         static_cast<std::uint32_t>(edges_mm.size() - 1), frame_events);
    drawn.push_back(schema == wire::Schema::petsird ? block(writer, written, some, frame_ms * k)
                                                    : records(some, edges_mm));
  }

  PremadeStream stream;
  wire::FrameHeader frame{.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird, .stream = 1};
  stream.frames.push_back(wire::encode_frame(frame, encode_stream_header(stream_header(scanner, 0, false))));
  frame.kind = wire::FrameKind::data;
  frame.schema = schema;
  frame.events = frame_events;
  const std::uint64_t frames = (wanted + frame_events - 1) / frame_events;
  stream.frames.resize(1 + frames);
  tbb::parallel_for(std::uint64_t{0}, frames, [&](std::uint64_t k) {
    wire::FrameHeader own = frame;
    own.sequence = k + 1;
    own.first_event = k * frame_events;
    own.start_ns = k * frame_ms * 1'000'000;
    own.duration_ns = frame_ms * std::uint64_t{1'000'000};
    stream.frames[own.sequence] = wire::encode_frame(own, drawn[own.sequence % payloads]);
  });
  stream.events = frames * frame_events;
  stream.frames.push_back(wire::encode_frame(
      {.kind = wire::FrameKind::end, .stream = 1, .sequence = frames + 1, .first_event = stream.events}, {}));
  for (const Bytes& made : stream.frames) stream.bytes += made.size();
  return stream;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
