// Sends a PETSIRD stream live over ZeroMQ: its header, then its time blocks as they are (share/doc/wire.md, schema 1).
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/io/petsird/time_block_cutter.hpp"
#include "gadgets/io/wire/time_block_frame.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/stream_sender.hpp"

namespace tofstream {
namespace {

struct ZmqPetsirdSink {
  struct Params {
    std::string endpoint = "tcp://127.0.0.1:5555";
    SendPattern pattern = SendPattern::push;
    KeyParams keys;
    int frame_events = 20000;
    int high_water_mark = 64;
    double linger_s = 10;
    double repeat_header_s = 10;
    double speed = 0;
  };
  static constexpr auto params = describe(
      param<&Params::endpoint>("endpoint", send_endpoint_words), param<&Params::pattern>("pattern", send_pattern_words),
      param<&Params::keys>("keys", key_words),
      param<&Params::frame_events>("frame_events", range(1, 1 << 28),
                                   "Time blocks are joined into a frame until it has at least this many events"),
      param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20), send_high_water_words),
      param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"), linger_words),
      param<&Params::repeat_header_s>("repeat_header_s", range(0, 86400), unit("s"), repeat_header_words),
      param<&Params::speed>("speed", range(0, 1e6), send_speed_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0],
            .note = "and the stream's longest time block, twice; and what waits in ZeroMQ: high_water_mark frames"};
  }

  ZmqPetsirdSink(const Params& p, Context& context)
      : frame_events_(static_cast<std::uint64_t>(p.frame_events)),
        sender_({.to = {p.pattern, p.endpoint, p.keys, p.high_water_mark, p.linger_s},
                 .repeat_header_s = p.repeat_header_s,
                 .speed = p.speed},
                context),
        cutter_({.on_header =
                     [this](std::span<const std::byte> bytes) {
                       sender_.set_header({bytes.begin(), bytes.end()});
                     },
                 .on_block = [this](const petsird::TimeBlockCutter::Block& block) { take(block); },
                 .on_warning = [log = context.log()](std::string_view text) { log.warning(text); }}) {}

  void process(const ByteBlock& block, Context& context) {
    cutter_.push(block.data);
    book(context);
  }

  void flush(Context& context) {
    cutter_.finish();
    if (!frame_.empty()) send_frame();
    sender_.finish(frame_.end_ns(), context);
    book(context);
  }

 private:
  void take(const petsird::TimeBlockCutter::Block& block) {
    frame_.add(block);
    constexpr std::size_t most_bytes = 4 << 20;  // of blocks without events
    if (frame_.events() >= frame_events_ || frame_.bytes() >= most_bytes) send_frame();
  }

  void send_frame() {
    auto frame = frame_.take();
    const bool is_sent =
        sender_.send(frame.header, std::move(frame.bytes), 1e-9 * static_cast<double>(frame_.scanned_ns()));
    (is_sent ? sent_events_ : unsent_events_) += frame.header.events;
  }

  void book(Context& context) {
    context.books().received(sent_events_ + unsent_events_);
    context.books().written(std::exchange(sent_events_, 0));
    context.books().lost(std::exchange(unsent_events_, 0), not_sent_words);
  }

  const std::uint64_t frame_events_;
  StreamSender sender_;
  wire::TimeBlockFrame frame_;
  std::uint64_t sent_events_ = 0, unsent_events_ = 0;  // that are not in the books yet
  petsird::TimeBlockCutter cutter_;
};

TOFSTREAM_GADGET(ZmqPetsirdSink, "zmq_petsird_sink",
                 "Sends a recording in the standard's binary form live over ZeroMQ, its time blocks as they are");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
