// What becomes of the frames of a stream: bytes for a PETSIRD decoder, or batches of events; and of what is damaged,
// missing or twice there, in the books and figures. Knows nothing of sockets.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/ports.hpp"
#include "gadgets/formats/wire/stream_order.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// A stream comes out of one of the two: as bytes where its data are PETSIRD, as events where they are records.
struct LiveStream {
  std::shared_ptr<const ByteBlock> bytes;
  std::shared_ptr<const EventBatch> events;
  static constexpr auto outputs = ports(port<&LiveStream::bytes>("bytes"), port<&LiveStream::events>("events"));
};

class StreamReceiver {
 public:
  StreamReceiver(Emit<LiveStream>& emit, Context& context) : emit_(emit), context_(context) {}

  /// One message, as it came. Throws std::runtime_error where the stream's header cannot be used.
  void take(std::span<const std::byte> message);
  /// The end has come; frames that are missing may still come late.
  bool has_ended() const { return order_.has_ended(); }
  bool is_complete() const { return has_ended() && order_.missing_frames() == 0; }
  /// Books what is missing and reports. After the last message.
  void finish();

 private:
  void note_bad(const wire::BadFrame& bad);
  void note_unwanted(wire::Arrival arrival);
  void take_wanted(const wire::Frame& frame);
  void take_petsird(const wire::Frame& frame);
  void take_records(const wire::Frame& frame);
  void reject(const wire::FrameHeader& header, const char* reason);
  void emit_bytes(std::span<const std::byte> bytes);
  void report();

  Emit<LiveStream>& emit_;
  Context& context_;
  wire::StreamOrder order_;
  std::vector<std::byte> header_;           // of the stream, until the first data say what is made of it
  bool is_petsird_ = false;                 // the data are PETSIRD: the header has been emitted
  std::shared_ptr<const Scanner> scanner_;  // the data are records: the header's scanner
  std::array<std::uint64_t, std::size(wire::frame_fault_names)> bad_{};  // by FrameFault
  std::uint64_t bytes_ = 0;
  bool has_warned_of_other_ = false;
};

}  // namespace tofstream
