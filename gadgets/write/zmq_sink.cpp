// Sends simulated events live over ZeroMQ (PUSH, connected) as frames of fixed-size records (share/doc/wire.md).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <zmq.hpp>

#include "core/gadget.hpp"
#include "gadgets/formats/wire/records.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/socket_guard.hpp"
#include "gadgets/wire/stream_header.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t random_stream() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

struct ZmqSink {
  struct Params {
    std::string scanner;
    std::string endpoint = "tcp://127.0.0.1:5555";
    KeyParams keys;
    double crystal_efficiency_spread = 0;
    bool delayeds = false;
    int high_water_mark = 64;
    double linger_s = 10;
    double repeat_header_s = 10;
    double speed = 0;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", required,
                              "The scanner that recorded the events, of share/scanners or a YAML file"),
      param<&Params::endpoint>("endpoint",
                               "Of the receiver: tcp://127.0.0.1:PORT, ipc://PATH, or with keys tcp://HOST:PORT"),
      param<&Params::keys>("keys", key_words),
      param<&Params::crystal_efficiency_spread>("crystal_efficiency_spread", range(0, 0.99),
                                                "As the simulator has it: efficiencies for the header"),
      param<&Params::delayeds>("delayeds", "The events hold delayed coincidences too"),
      param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20),
                                      "Frames that wait in ZeroMQ; then the pipeline waits"),
      param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"),
                               "How long, at the end, a receiver is given to take what waits"),
      param<&Params::repeat_header_s>("repeat_header_s", range(0, 86400), unit("s"),
                                      "The header is sent again so often, for receivers that come late; 0: never"),
      param<&Params::speed>("speed", range(0, 1e6),
                            "Scan time a second: 1 sends as the scanner does; 0: as fast as it goes"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&) {
    return {.note =
                "while it starts, the scanner's pair efficiencies: at most 256 MiB, three times; and what waits in "
                "ZeroMQ: high_water_mark batches"};
  }

  ZmqSink(const Params& p, Context& context)
      : header_payload_(stream_header(p.scanner, p.crystal_efficiency_spread, p.delayeds)),
        repeat_header_(p.repeat_header_s),
        speed_(p.speed),
        cancel_(context.cancel_token()),
        cancelled_(cancel_),
        socket_(zmq_, zmq::socket_type::push),
        guard_(zmq_, socket_,
               {.end = SocketEnd::connects,
                .endpoint = p.endpoint,
                .keys = p.keys,
                .warn = [log = context.log()](std::string_view text) { log.warning(text); }}) {
    socket_.set(zmq::sockopt::sndhwm, p.high_water_mark);
    socket_.set(zmq::sockopt::linger, static_cast<int>(1000 * p.linger_s));
    socket_.set(zmq::sockopt::immediate, true);  // without a receiver nothing is queued: the pipeline waits
    socket_.connect(p.endpoint);
  }
  ~ZmqSink() {
    if (cancel_.stop_requested()) socket_.set(zmq::sockopt::linger, 0);
  }
  ZmqSink(const ZmqSink&) = delete;
  ZmqSink& operator=(const ZmqSink&) = delete;

  void process(const EventBatch& batch, Context& context) {
    if (batch.count == 0) return;
    send_header_when_due();
    wire::FrameHeader header = wire::record_header(batch);
    wait_until_over(batch, context);
    zmq::message_t message(wire::header_bytes + header.events * wire::record_bytes(header.schema));
    wire::write_records(batch, bytes_of(message).subspan(wire::header_bytes));
    send(header, message);
    context.books().written(header.events);
    end_ns_ = header.start_ns + header.duration_ns;
  }

  void flush(Context& context) {
    send_header_when_due();
    zmq::message_t message(wire::header_bytes);
    send({.kind = wire::FrameKind::end, .start_ns = end_ns_}, message);
    context.report("frames", static_cast<std::int64_t>(sequence_ - 1));
    context.report("stream", fmt::format("{:016x}", stream_));
  }

 private:
  // Until the scanner would have counted the batch's last event, by the time that all batches stand for: that at which
  // each begins is known to a time block only. Not once the run is to stop.
  void wait_until_over(const EventBatch& batch, const Context& context) {
    if (!(speed_ > 0)) return;
    if (!began_) began_ = Clock::now();
    if (!batch.delayed) scanned_s_ += batch.duration_s;
    const auto due =
        *began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(scanned_s_ / speed_));
    constexpr std::chrono::milliseconds look_around{50};
    while (Clock::now() < due && !context.stopping() && !cancel_.stop_requested())
      std::this_thread::sleep_until(std::min(due, Clock::now() + look_around));
  }

  static std::span<std::byte> bytes_of(zmq::message_t& message) {
    return {static_cast<std::byte*>(message.data()), message.size()};
  }

  void send_header_when_due() {
    const auto now = Clock::now();
    const bool is_due = repeat_header_.count() > 0 && now - header_sent_ >= repeat_header_;
    if (has_sent_header_ && !is_due) return;
    zmq::message_t message(wire::header_bytes + header_payload_.size());
    std::ranges::copy(header_payload_, bytes_of(message).begin() + wire::header_bytes);
    seal_and_send({.kind = wire::FrameKind::stream_header, .schema = wire::Schema::petsird}, message);
    has_sent_header_ = true;
    header_sent_ = now;
  }

  // Data, or the end: with the next number.
  void send(wire::FrameHeader header, zmq::message_t& message) {
    header.sequence = sequence_++;
    header.first_event = events_;
    events_ += header.events;
    seal_and_send(header, message);
  }

  void seal_and_send(wire::FrameHeader header, zmq::message_t& message) {
    header.stream = stream_;
    header.sent_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    wire::seal_frame(header, bytes_of(message));
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLOUT, 0},
                               {nullptr, guard_.refused_descriptor(), ZMQ_POLLIN, 0},
                               {nullptr, cancelled_.number(), ZMQ_POLLIN, 0}};
    while (!socket_.send(message, zmq::send_flags::dontwait) && !cancel_.stop_requested()) {
      guard_.throw_if_refused();
      zmq::poll(items, std::size(items), std::chrono::milliseconds(-1));
    }
  }

  const std::vector<std::byte> header_payload_;
  const std::chrono::duration<double> repeat_header_;
  const double speed_;
  std::optional<Clock::time_point> began_;
  double scanned_s_ = 0;  // scan time of the batches so far
  const std::stop_token cancel_;
  const StopDescriptor cancelled_;
  zmq::context_t zmq_;
  zmq::socket_t socket_;
  SocketGuard guard_;
  const std::uint64_t stream_ = random_stream();
  std::uint64_t sequence_ = 1, events_ = 0, end_ns_ = 0;
  bool has_sent_header_ = false;
  Clock::time_point header_sent_;
};

TOFSTREAM_GADGET(ZmqSink, "zmq_sink", "Sends simulated list mode live over ZeroMQ, on this machine");

}  // namespace
}  // namespace tofstream
