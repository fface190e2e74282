// A stream's frames: see stream_sender.hpp.
#include "gadgets/wire/stream_sender.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/random_identity.hpp"
#include "gadgets/io/wall_clock.hpp"

namespace tofstream {
namespace {

// `context` outlives the sender.
FrameSender::Settings speaking_to(FrameSender::Settings to, Context& context) {
  to.warn = [log = context.log()](std::string_view text) { log.warning(text); };
  to.say_waiting = [&context](std::string_view what) { context.say_waiting(std::string(what)); };
  to.may_wait = [&context] { return !context.stopping(); };
  return to;
}

}  // namespace

StreamSender::StreamSender(Settings settings, const Context& context)
    : settings_(std::move(settings)),
      context_(context),
      stream_(random_identity()),
      sender_(speaking_to(settings_.to, context_), context.cancel_token()) {}

bool StreamSender::send(wire::FrameHeader header, std::vector<std::byte> frame, double scanned_s) {
  send_header_when_due();
  wait_until(scanned_s);
  header.sequence = sequence_++;
  header.first_event = events_;
  events_ += header.events;
  return seal_and_send(header, std::move(frame));
}

void StreamSender::finish(std::uint64_t end_ns, Context& context) {
  send_header_when_due();
  seal_and_send({.kind = wire::FrameKind::end, .sequence = sequence_, .first_event = events_, .start_ns = end_ns},
                std::vector<std::byte>(wire::header_bytes));
  context.report("frames", static_cast<std::int64_t>(sequence_ - 1));
  context.report("stream", fmt::format("{:016x}", stream_));
  if (settings_.to.pattern == SendPattern::pub) {
    context.report("subscriptions", static_cast<std::int64_t>(sender_.subscriptions()));
    context.report("refused_connections", static_cast<std::int64_t>(sender_.refused_connections()));
  }
}

// Until the scanner would have counted the last event. Not once the run is to stop.
void StreamSender::wait_until(double scanned_s) {
  if (!(settings_.speed > 0)) return;
  if (!began_) began_ = Clock::now();
  const auto due =
      *began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(scanned_s / settings_.speed));
  constexpr std::chrono::milliseconds look_around{50};
  context_.wait_outside([&] {
    while (Clock::now() < due && !context_.stopping() && !context_.cancelled())
      std::this_thread::sleep_until(std::min(due, Clock::now() + look_around));
  });
}

void StreamSender::send_header_when_due() {
  if (sender_.has_lost_receiver()) header_sent_.reset();
  const auto now = Clock::now();
  const std::chrono::duration<double> repeat(settings_.repeat_header_s);
  const bool is_due = header_sent_ && repeat.count() > 0 && now - *header_sent_ >= repeat;
  if (header_sent_ && !is_due) return;
  std::vector<std::byte> frame(wire::header_bytes + header_payload_.size());
  std::ranges::copy(header_payload_, frame.begin() + wire::header_bytes);
  seal_and_send({.kind = wire::FrameKind::stream_header, .schema = header_schema_}, std::move(frame));
  header_sent_ = now;
}

bool StreamSender::seal_and_send(wire::FrameHeader header, std::vector<std::byte> frame) {
  header.stream = stream_;
  header.sent_ns = wall_clock_ns();
  wire::seal_frame(header, frame);
  return context_.wait_outside([&] { return sender_.send(std::move(frame)); });
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
