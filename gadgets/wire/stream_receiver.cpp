// Frames to data: see stream_receiver.hpp.
#include "gadgets/wire/stream_receiver.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/run/run_control.hpp"

namespace tofstream {
namespace {

using wire::Arrival;
using wire::BadFrame;
using wire::Frame;
using wire::FrameKind;

}  // namespace

WantedOutputs wanted_outputs(const Context& context) {
  if (!context.control()) return {.decoded = true, .frames = true};
  const Pipeline& pipeline = context.control()->pipeline();
  WantedOutputs wanted{.decoded = false, .frames = false};
  for (const PipelineEdge& edge : pipeline.edges) {
    const PipelineGadget& gadget = pipeline.gadgets[edge.from];
    if (gadget.name != context.name()) continue;
    (gadget.info->outputs[edge.from_port].name == "frames" ? wanted.frames : wanted.decoded) = true;
  }
  return wanted;
}

void StreamReceiver::take(RawFrame message) {
  context_.set_message({.ingress = message.entered, .last_ingress = message.entered});
  message.events = take_frame(message);
  if (!wanted_.frames) return;
  emit_({.frames = std::make_shared<const RawFrame>(std::move(message))});
}

void StreamReceiver::leave_out(const RawFrame& message, const char* reason) {
  const auto decoded = wire::decode_frame(message.data);
  const auto* const frame = std::get_if<Frame>(&decoded);
  if (!frame || streams_.take(frame->header, message.ingress_ns, begins(*frame)) != Arrival::wanted) return;
  context_.books().received(frame->header.events);
  context_.books().lost(frame->header.events, reason);
}

// How many events go on with the frame itself.
std::uint64_t StreamReceiver::take_frame(const RawFrame& message) {
  bytes_ += message.data.size();
  auto decoded = wire::decode_frame(message.data);
  if (const auto* bad = std::get_if<BadFrame>(&decoded)) {
    note_bad(*bad);
    return 0;
  }
  Frame& frame = std::get<Frame>(decoded);
  frame.owner = message.owner;
  if (settings_.is_monitor) join(frame.header);
  const Arrival arrival = streams_.take(frame.header, message.ingress_ns, begins(frame));
  context_.progress(static_cast<double>(streams_.counts().events), 0, "events");
  if (arrival != Arrival::wanted) return 0;
  note_two_at_once();
  if (wanted_.decoded) {
    if (frame.header.kind == FrameKind::data) content_->take(frame, streams_.shift_ns(frame.header.stream));
  } else {
    context_.books().received(frame.header.events);
    if (!wanted_.frames) context_.books().written(frame.header.events);
    return frame.header.events;
  }
  return 0;
}

// Whether a frame is the header of a stream that is to be taken. The first one whose header can be used is.
bool StreamReceiver::begins(const Frame& frame) {
  constexpr std::uint64_t most_refused = 100;  // then nobody reads what a stranger sends
  const bool is_known = is_first_header(frame);
  if (frame.header.kind != FrameKind::stream_header || streams_.knows(frame.header.stream) || is_ended_by_another_ ||
      (refused_headers_ >= most_refused && !is_known))
    return false;
  const std::string refusal = why_refused(frame);
  if (refusal.empty()) {
    if (!streams_.has_begun())
      open(frame);
    else
      context_.log().warning(
          "the sender began again: the scan continues with what it sends now; whether it had sent everything before is "
          "not known");
    return true;
  }
  if (refused_headers_++ > 0) return false;  // one line for all
  context_.report("stream_left_out", refusal);
  context_.log().warning(
      fmt::format("another stream arrives here; it is left out, and its frames are counted: {}", refusal));
  return false;
}

// Why the stream that a header begins is left out; empty where it is taken.
std::string StreamReceiver::why_refused(const Frame& frame) {
  if (streams_.has_begun() && settings_.on_new_stream != OnNewStream::go_on) {
    is_ended_by_another_ = settings_.on_new_stream == OnNewStream::end;
    return is_ended_by_another_ ? "a sender that begins again ends the scan (on_new_stream: end)"
                                : "it is not the first (on_new_stream: ignore)";
  }
  if (streams_.has_begun() && is_first_header(frame)) return "";
  const StreamKind* kind = table_of<StreamKind>().find(frame.header.schema);
  if (!kind) return "nothing here reads streams of its kind";
  if (streams_.has_begun() && frame.header.schema != header_schema_)
    return "its data are of another kind than the first stream's";
  return kind->refusal(frame.payload, header_);
}

bool StreamReceiver::is_first_header(const Frame& frame) const {
  return frame.header.schema == header_schema_ && std::ranges::equal(frame.payload, header_);
}

void StreamReceiver::open(const Frame& frame) {
  header_.assign(frame.payload.begin(), frame.payload.end());
  header_schema_ = frame.header.schema;
  if (wanted_.decoded)
    content_ =
        table_of<StreamKind>()
            .find(header_schema_)
            ->open(header_,
                   {.emit = emit_, .context = context_, .note_bad = [this](const BadFrame& bad) { note_bad(bad); }});
}

// A monitor takes the stream from where it is.
void StreamReceiver::join(const wire::FrameHeader& header) {
  if (joined_at_ || header.kind == FrameKind::stream_header || !streams_.knows(header.stream)) return;
  joined_at_ = header;
  streams_.begin_at(header);
}

void StreamReceiver::note_bad(const BadFrame& bad) {
  if (bad_[static_cast<std::size_t>(bad.fault)]++ > 0) return;  // one line a kind of fault
  context_.log().warning(fmt::format("{} (the first such frame; they are counted)", bad.what));
}

void StreamReceiver::note_two_at_once() {
  if (has_warned_of_two_ || !streams_.has_two_at_once()) return;
  has_warned_of_two_ = true;
  context_.report("two_senders_at_once", true);
  context_.log().warning("two senders send here at once, and both are reconstructed as one scan: stop one of them");
}

void StreamReceiver::finish() {
  if (content_) content_->finish(has_ended());
  book_missing();
  report();
}

void StreamReceiver::book_missing() {
  const auto book = [&](std::uint64_t events, const char* reason) {
    if (events == 0) return;
    context_.books().received(events);
    context_.books().lost(events, reason);
  };
  if (joined_at_) book(joined_at_->first_event, "sent before this monitor joined");
  book(streams_.missing_events(),
       settings_.is_monitor ? "sent, but not received: nobody waits for a monitor" : "sent, but not received");
  if (streams_.missing_frames() > 0)
    context_.log().warning(fmt::format("{} frames were sent and not received: {} events are lost",
                                       streams_.missing_frames(), streams_.missing_events()));
}

void StreamReceiver::report() {
  const auto figure = [&](std::string_view key, std::uint64_t value) {
    context_.report(key, static_cast<std::int64_t>(value));
  };
  const auto counts = streams_.counts();
  if (streams_.size() > 1) {
    figure("streams", streams_.size());
    context_.report("gap_s", 1e-9 * static_cast<double>(streams_.gap_ns()));
  }
  if (refused_headers_ > 0) figure("refused_headers", refused_headers_);
  context_.report("stream", fmt::format("{:016x}", streams_.stream()));
  context_.report("ended", has_ended());
  figure("bytes", bytes_);
  figure("frames", counts.frames);
  figure("missing_frames", streams_.missing_frames());
  if (settings_.is_monitor) figure("frames_before_joining", joined_at_ ? joined_at_->sequence - 1 : 0);
  figure("late_frames", counts.late);
  figure("duplicate_frames", counts.duplicates);
  figure("frames_before_header", counts.before_header);
  figure("frames_of_other_streams", counts.of_other_streams);
  figure("bad_frames", std::accumulate(bad_.begin(), bad_.end(), std::uint64_t{0}));
  for (std::size_t k = 0; k < bad_.size(); ++k)
    if (bad_[k] > 0) figure(fmt::format("bad_frames_{}", wire::frame_fault_names[k]), bad_[k]);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
