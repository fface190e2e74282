// Sends simulated events live over ZeroMQ as frames of fixed-size records (share/doc/wire.md).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/wire/records.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/stream_header.hpp"
#include "gadgets/wire/stream_sender.hpp"

namespace tofstream {
namespace {

struct ZmqSink {
  struct Params {
    std::string scanner;
    std::string endpoint = "tcp://127.0.0.1:5555";
    SendPattern pattern = SendPattern::push;
    KeyParams keys;
    double crystal_efficiency_spread = 0;
    bool delayeds = false;
    int high_water_mark = 64;
    double linger_s = 10;
    double repeat_header_s = 10;
    double speed = 0;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", required, reads_one_of("scanners"),
                              "The scanner that recorded the events, of share/scanners or a YAML file"),
      param<&Params::endpoint>("endpoint", send_endpoint_words), param<&Params::pattern>("pattern", send_pattern_words),
      param<&Params::keys>("keys", key_words),
      param<&Params::crystal_efficiency_spread>("crystal_efficiency_spread", range(0, 0.99),
                                                "As in the simulator: the efficiencies in the header are made from it"),
      param<&Params::delayeds>("delayeds", "The events hold delayed coincidences too"),
      param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20), send_high_water_words),
      param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"), linger_words),
      param<&Params::repeat_header_s>("repeat_header_s", range(0, 86400), unit("s"), repeat_header_words),
      param<&Params::speed>("speed", range(0, 1e6), send_speed_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&) {
    return {.note =
                "while it starts, the scanner's pair efficiencies: at most 256 MiB, three times; and what waits in "
                "ZeroMQ: high_water_mark batches"};
  }

  ZmqSink(const Params& p, Context& context)
      : sender_({.to = {p.pattern, p.endpoint, p.keys, p.high_water_mark, p.linger_s},
                 .repeat_header_s = p.repeat_header_s,
                 .speed = p.speed},
                context),
        header_(stream_header(p.scanner, p.crystal_efficiency_spread, p.delayeds)) {}

  void process(const EventBatch& batch, Context& context) {
    require_still(batch, "zmq_sink");
    if (batch.count == 0) return;
    if (header_) set_header(batch.quantity.get());
    const wire::FrameHeader header = wire::record_header(batch);
    std::vector<std::byte> frame(wire::header_bytes + header.events * wire::record_bytes(header.schema));
    wire::write_records(batch, std::span(frame).subspan(wire::header_bytes));
    // Counts the time that all batches stand for: when each begins is known only to a time block.
    if (!batch.delayed) scanned_s_ += batch.duration_s;
    if (sender_.send(header, std::move(frame), scanned_s_))
      context.books().written(header.events);
    else
      context.books().lost(header.events, not_sent_words);
    end_ns_ = header.start_ns + header.duration_ns;
  }

  void flush(Context& context) {
    if (header_) set_header(nullptr);
    sender_.finish(end_ns_, context);
  }

 private:
  // The first events say which corrections a receiver should make.
  void set_header(const Quantity* quantity) {
    if (quantity) petsird::state_simulation(*header_, *quantity);
    sender_.set_header(encode_stream_header(std::move(*header_)));
    header_.reset();
  }

  StreamSender sender_;
  std::optional<petsird::Header> header_;  // until it is sent
  double scanned_s_ = 0;                   // scan time of the batches so far
  std::uint64_t end_ns_ = 0;
};

TOFSTREAM_GADGET(ZmqSink, "zmq_sink", "Sends simulated list mode live over ZeroMQ, to a receiver or to monitors");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
