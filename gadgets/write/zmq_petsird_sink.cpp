// Sends a PETSIRD stream live over ZeroMQ: its header, then its time blocks as they are (share/doc/wire.md, schema 1).
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/formats/petsird/time_block_cutter.hpp"
#include "gadgets/formats/petsird/value_writer.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/stream_sender.hpp"

namespace tofstream {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

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
  static constexpr auto params =
      describe(param<&Params::endpoint>("endpoint", send_endpoint_words),
               param<&Params::pattern>("pattern", send_pattern_words), param<&Params::keys>("keys", key_words),
               param<&Params::frame_events>("frame_events", range(1, 1 << 28),
                                            "Time blocks are joined to a frame until it has so many events"),
               param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20), send_high_water_words),
               param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"), linger_words),
               param<&Params::repeat_header_s>("repeat_header_s", range(0, 86400), unit("s"), repeat_header_words),
               param<&Params::speed>("speed", range(0, 1e6), send_speed_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0] + petsird::Decoder::most_held_bytes,
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
    if (blocks_ > 0) send_frame();
    sender_.finish(ns_per_ms * end_ms_, context);
    book(context);
  }

 private:
  // A frame is one chunk of the stream: the number of its blocks, then they.
  void take(const petsird::TimeBlockCutter::Block& block) {
    if (blocks_++ == 0) frame_.start_ns = ns_per_ms * block.interval.start_ms;
    chunk_.insert(chunk_.end(), block.bytes.begin(), block.bytes.end());
    frame_.events += block.events;
    if (block.kind == petsird::BlockKind::event && block.interval.stop_ms > block.interval.start_ms) {
      const std::uint64_t duration_ms = block.interval.stop_ms - block.interval.start_ms;
      frame_.duration_ns += ns_per_ms * duration_ms;
      scanned_ms_ += duration_ms;
      end_ms_ = block.interval.stop_ms;
    }
    constexpr std::size_t most_bytes = 4 << 20;  // of blocks that hold other things than events
    if (frame_.events >= frame_events_ || chunk_.size() >= most_bytes) send_frame();
  }

  void send_frame() {
    std::vector<std::byte> frame(wire::header_bytes);
    petsird::append_varint(frame, std::exchange(blocks_, 0));
    frame.insert(frame.end(), chunk_.begin(), chunk_.end());
    chunk_.clear();
    sent_events_ += frame_.events;
    sender_.send(std::exchange(frame_, {.schema = wire::Schema::petsird}), std::move(frame),
                 1e-3 * static_cast<double>(scanned_ms_));
  }

  void book(Context& context) {
    context.books().received(sent_events_);
    context.books().written(std::exchange(sent_events_, 0));
  }

  const std::uint64_t frame_events_;
  StreamSender sender_;
  wire::FrameHeader frame_{.schema = wire::Schema::petsird};  // as far as its blocks have come
  std::vector<std::byte> chunk_;
  std::uint64_t blocks_ = 0, sent_events_ = 0, scanned_ms_ = 0, end_ms_ = 0;
  petsird::TimeBlockCutter cutter_;
};

TOFSTREAM_GADGET(ZmqPetsirdSink, "zmq_petsird_sink",
                 "Sends a recording in the standard's binary form live over ZeroMQ, its time blocks as they are");

}  // namespace
}  // namespace tofstream
