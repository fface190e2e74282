// What becomes of the frames of a stream: bytes for a PETSIRD decoder, or batches of events, or the frames themselves;
// and of what is damaged, missing or twice there, in the books and figures. Knows nothing of sockets and journals.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/gadget/context.hpp"
#include "core/gadget/ports.hpp"
#include "gadgets/io/wire/stream_order.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/raw_frame.hpp"

namespace tofstream {

/// A stream comes out of one of the first two: as bytes where its data are PETSIRD, as events where they are records.
/// All messages come out of the third as they came, where it is connected.
struct LiveStream {
  std::shared_ptr<const ByteBlock> bytes;
  std::shared_ptr<const EventBatch> events;
  std::shared_ptr<const RawFrame> frames;
  static constexpr auto outputs = ports(port<&LiveStream::bytes>("bytes"), port<&LiveStream::events>("events"),
                                        port<&LiveStream::frames>("frames"));
};

/// Which outputs somebody reads. Where nobody reads what is decoded, nothing is, and the frames carry the events; where
/// nobody reads those either, the source has kept them in its journal, and the books have the events as written.
struct WantedOutputs {
  bool decoded = true, frames = false;
};

/// As the pipeline of the context's gadget connects them; all decoded where there is no run.
WantedOutputs wanted_outputs(const Context& context);

class StreamReceiver {
 public:
  /// `is_monitor`: it may come late and miss frames, which nobody sends again; that is no fault, but is booked.
  StreamReceiver(Emit<LiveStream>& emit, Context& context, bool is_monitor = false)
      : emit_(emit), context_(context), wanted_(wanted_outputs(context)), is_monitor_(is_monitor) {}

  /// One message, as it came; where it has no owner it is copied as far as it is kept. Throws std::runtime_error where
  /// the stream's header cannot be used.
  void take(RawFrame message);
  /// A message that is left out, for a reason that the books give; its events count as received.
  void leave_out(const RawFrame& message, const char* reason);
  /// The stream is taken from this frame on, which is one of data: what came before it is not missed. Behind the
  /// stream's header, before any data.
  void begin_at(const wire::FrameHeader& first) { order_.begin_at(first); }
  /// The end has come; frames that are missing may still come late.
  bool has_ended() const { return order_.has_ended(); }
  bool is_complete() const { return has_ended() && (is_monitor_ || order_.missing_frames() == 0); }
  /// Books what is missing and reports. After the last message.
  void finish();

 private:
  std::uint64_t take_frame(std::span<const std::byte> message);
  void join(const wire::FrameHeader& header);
  void book_missing();
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
  const WantedOutputs wanted_;
  const bool is_monitor_;
  std::optional<wire::FrameHeader> joined_at_;  // a monitor's first frame behind the header
  wire::StreamOrder order_;
  std::vector<std::byte> header_;             // of the stream, until the first data say what is made of it
  bool is_petsird_ = false;                   // the data are PETSIRD: the header has been emitted
  std::shared_ptr<const Scanner> scanner_;    // the data are records: the header's scanner
  std::shared_ptr<const Quantity> quantity_;  // and what it says of the events
  std::array<std::uint64_t, std::size(wire::frame_fault_names)> bad_{};  // by FrameFault
  std::uint64_t bytes_ = 0;
  bool has_warned_of_other_ = false;
};

}  // namespace tofstream
