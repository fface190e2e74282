// What becomes of the frames of a stream: data (stream_content.hpp), or the frames themselves; and of what is damaged,
// missing or twice there, in the books and figures. Knows nothing of sockets and journals.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gadget/context.hpp"
#include "core/value/param_rules.hpp"
#include "gadgets/io/wire/stream_set.hpp"
#include "gadgets/wire/stream_content.hpp"

namespace tofstream {

/// Which outputs somebody reads. Where nobody reads what is decoded, nothing is, and the frames carry the events; where
/// nobody reads those either, the source has kept them in its journal, and the books have the events as written.
struct WantedOutputs {
  bool decoded = true, frames = false;
};

/// As the pipeline of the context's gadget connects them; all decoded where there is no run.
WantedOutputs wanted_outputs(const Context& context);

/// What follows when a sender begins again, which begins another stream.
enum class OnNewStream { go_on, end, ignore };
constexpr auto enum_names(OnNewStream) {
  return names(OnNewStream::go_on, "continue", OnNewStream::end, "end", OnNewStream::ignore, "ignore");
}
inline constexpr auto* on_new_stream_words =
    "What to do when a sender begins again: continue takes its events too if scanner and examination are the same; end "
    "ends the scan; ignore leaves its events out";

struct ReceiverSettings {
  // It may come late and miss frames, which nobody sends again; that is no fault, but is booked.
  bool is_monitor = false;
  OnNewStream on_new_stream = OnNewStream::go_on;
};

class StreamReceiver {
 public:
  StreamReceiver(Emit<LiveStream>& emit, Context& context, const ReceiverSettings& settings = {})
      : emit_(emit), context_(context), wanted_(wanted_outputs(context)), settings_(settings) {}
  StreamReceiver(const StreamReceiver&) = delete;
  StreamReceiver& operator=(const StreamReceiver&) = delete;

  /// One message, as it came; where it has no owner it is copied as far as it is kept. Throws std::runtime_error where
  /// records come whose stream's header is of no use to them.
  void take(RawFrame message);
  /// A message that is left out, for a reason that the books give; its events count as received.
  void leave_out(const RawFrame& message, const char* reason);
  /// The stream is taken from this frame on, which is one of data: what came before it is not missed. Behind the
  /// stream's header, before any data.
  void begin_at(const wire::FrameHeader& first) { streams_.begin_at(first); }
  /// The end has come; frames that are missing may still come late.
  bool has_ended() const { return streams_.has_ended() || is_ended_by_another_; }
  bool is_complete() const { return has_ended() && (settings_.is_monitor || !streams_.is_missing_frames()); }
  /// In the frames that were taken so far.
  std::uint64_t events() const { return streams_.counts().events; }
  /// Books what is missing and reports. After the last message.
  void finish();

 private:
  std::uint64_t take_frame(const RawFrame& message);
  bool begins(const wire::Frame& frame);
  std::string why_refused(const wire::Frame& frame);
  bool is_first_header(const wire::Frame& frame) const;
  void open(const wire::Frame& frame);
  void join(const wire::FrameHeader& header);
  void book_missing();
  void note_bad(const wire::BadFrame& bad);
  void note_two_at_once();
  void report();

  Emit<LiveStream>& emit_;
  Context& context_;
  const WantedOutputs wanted_;
  const ReceiverSettings settings_;
  std::optional<wire::FrameHeader> joined_at_;  // a monitor's first frame behind the header
  wire::StreamSet streams_;
  bool is_ended_by_another_ = false;
  std::vector<std::byte> header_;  // of the first stream
  wire::Schema header_schema_ = wire::Schema::none;
  std::unique_ptr<StreamContent> content_;  // from the first header on, where data are wanted
  std::array<std::uint64_t, std::size(wire::frame_fault_names)> bad_{};  // by FrameFault
  std::uint64_t bytes_ = 0;
  std::uint64_t refused_headers_ = 0;
  bool has_warned_of_two_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
