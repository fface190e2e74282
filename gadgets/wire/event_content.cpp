// List mode from frames: bytes for a PETSIRD decoder, or batches of events from records. The stream's header is that of
// PETSIRD (share/doc/wire.md).
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/petsird/decoder.hpp"
#include "gadgets/io/petsird/describe.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/wire/record_kinds.hpp"
#include "gadgets/io/wire/records.hpp"
#include "gadgets/wire/stream_content.hpp"

namespace tofstream {
namespace {

using wire::BadFrame;
using wire::Frame;
using wire::Schema;

// The header of a PETSIRD stream that has nothing else.
struct HeaderReader : petsird::Handler {
  void on_header(petsird::Header&& read) override { header = std::move(read); }
  std::optional<petsird::Header> header;
};

// True where a value says little of the width of its bin, since bins differ.
bool has_unequal_bins(const petsird::BinEdges& edges) {
  constexpr float rounding = 1e-4f;  // of widths that were meant to be equal
  for (std::size_t k = 1; k + 1 < edges.size(); ++k) {
    const float first = edges[1] - edges[0], width = edges[k + 1] - edges[k];
    if (std::abs(width - first) > rounding * first) return true;
  }
  return false;
}

petsird::Header petsird_header_of(std::span<const std::byte> header_bytes) {
  HeaderReader reader;
  petsird::Decoder decoder(reader);
  decoder.push(header_bytes);
  if (!reader.header) throw std::runtime_error("the stream's header is cut short: fix the sender");
  return std::move(*reader.header);
}

void require_equal_bins(const petsird::Header& header) {
  for (const auto& row : header.scanner.tof_bin_edges_mm)
    if (std::ranges::any_of(row, has_unequal_bins))
      throw std::runtime_error("the scanner's ToF bins differ in width: its events must be sent as PETSIRD");
}

// What a sender that begins again may name anew is left out.
bool is_same_examination(std::optional<petsird::ExamInformation> a, std::optional<petsird::ExamInformation> b) {
  for (auto* exam : {&a, &b}) {
    if (!*exam) continue;
    (*exam)->series_instance_uid = (*exam)->sop_instance_uid = "";
    (*exam)->start_of_acquisition_ns.reset();
  }
  return a == b;
}

std::string why_no_list_mode(std::span<const std::byte> header_bytes, std::span<const std::byte> first_bytes) {
  try {
    const petsird::Header header = petsird_header_of(header_bytes);
    petsird::to_scanner(header.scanner);
    if (first_bytes.empty()) return "";
    const petsird::Header first = petsird_header_of(first_bytes);
    if (header.scanner != first.scanner) return "its scanner is another than the first stream's";
    return is_same_examination(header.exam, first.exam) ? "" : "its examination is another than the first stream's";
  } catch (const std::exception& error) {
    return fmt::format("its header cannot be used, {}", error.what());
  }
}

class EventContent final : public StreamContent {
 public:
  EventContent(std::span<const std::byte> header, const StreamOutlet& outlet)
      : header_(header.begin(), header.end()), outlet_(outlet) {}

  void take(const Frame& frame, std::int64_t shift_ns) override {
    if (frame.header.schema == Schema::petsird)
      take_petsird(frame, shift_ns);
    else
      take_records(frame, shift_ns);
  }

  void finish(bool has_ended) override {
    constexpr std::byte end_mark[] = {std::byte{0}};
    if (!has_ended || scanner_) return;
    if (!is_petsird_) emit_bytes(header_);  // no data came at all: a decoder still learns of the scanner
    emit_bytes(ByteBlock({std::begin(end_mark), std::end(end_mark)}));
  }

 private:
  void take_petsird(const Frame& frame, std::int64_t shift_ns) {
    if (scanner_) return outlet_.reject(frame.header, other_data);
    if (!std::exchange(is_petsird_, true)) {
      outlet_.require_reader("bytes", "PETSIRD's time blocks");
      emit_bytes(header_);
    }
    emit_bytes(ByteBlock(frame.owner, frame.payload, shift_ns / ns_per_ms));
  }

  void take_records(const Frame& frame, std::int64_t shift_ns) {
    const auto* const kind = table_of<wire::RecordKind>().find(frame.header.schema);
    if (is_petsird_ || !kind) return outlet_.reject(frame.header, other_data);
    if (!scanner_) learn_scanner(*kind);
    Frame shifted = frame;
    shifted.header.start_ns += static_cast<std::uint64_t>(shift_ns);
    auto read = wire::read_records(shifted, scanner_);
    if (const auto* bad = std::get_if<BadFrame>(&read)) {
      outlet_.note_bad(*bad);
      return outlet_.reject(frame.header, "in records that the scanner cannot have seen");
    }
    outlet_.context.books().received(frame.header.events);
    auto batch = std::make_shared<EventBatch>(std::get<EventBatch>(std::move(read)));
    if (!batch->delayed) scan_s_ += batch->duration_s;
    if (scan_s_ > 0) outlet_.context.report("scan_s", scan_s_);
    batch->quantity = quantity_;
    outlet_.emit({.events = std::move(batch)});
  }

  void learn_scanner(const wire::RecordKind& kind) {
    outlet_.require_reader("events", "records of events");
    const petsird::Header header = petsird_header_of(header_);
    require_equal_bins(header);
    scanner_ = petsird::to_scanner(header.scanner);
    quantity_ = std::make_shared<const Quantity>(petsird::quantity_of(header));
    if (!kind.names_detectors) return;
    outlet_.context.report("detector_depth", petsird::detector_depth_note(header.scanner, {}).words);
    outlet_.context.report("scanner_in_words", petsird::scanner_in_words(header.scanner));
    outlet_.context.report("time_of_flight", petsird::time_of_flight_in_words(header.scanner));
  }

  static constexpr std::int64_t ns_per_ms = 1000000;

  void emit_bytes(ByteBlock bytes) { outlet_.emit({.bytes = std::make_shared<const ByteBlock>(std::move(bytes))}); }

  const std::vector<std::byte> header_;
  const StreamOutlet outlet_;
  bool is_petsird_ = false;                   // the data are PETSIRD: the header has been emitted
  std::shared_ptr<const Scanner> scanner_;    // the data are records: the header's scanner
  std::shared_ptr<const Quantity> quantity_;  // and what it says of the events
  double scan_s_ = 0;                         // of the records' prompts
};

std::unique_ptr<StreamContent> open_list_mode(std::span<const std::byte> header, const StreamOutlet& outlet) {
  return std::make_unique<EventContent>(header, outlet);
}

TOFSTREAM_STREAM(Schema::petsird, why_no_list_mode, open_list_mode);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
