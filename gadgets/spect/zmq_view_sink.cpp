// Sends views live over ZeroMQ, each message as a frame (share/doc/wire.md, schemas 5 to 7).
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/spect/io/view_frames.hpp"
#include "gadgets/views.hpp"
#include "gadgets/wire/stream_sender.hpp"

namespace tofstream {
namespace {

struct ZmqViewSink {
  struct Params {
    std::string endpoint = "tcp://127.0.0.1:5555";
    SendPattern pattern = SendPattern::push;
    KeyParams keys;
    wire::ViewPixels pixels = wire::ViewPixels::automatic;
    int high_water_mark = 64;
    double linger_s = 10;
    double repeat_header_s = 10;
    double speed = 0;
  };
  static constexpr auto params =
      describe(param<&Params::endpoint>("endpoint", send_endpoint_words),
               param<&Params::pattern>("pattern", send_pattern_words), param<&Params::keys>("keys", key_words),
               param<&Params::pixels>(
                   "pixels", "auto sends whole numbers to 65535 as uint16, others as float32; or one of the two"),
               param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20), send_high_water_words),
               param<&Params::linger_s>("linger_s", range(0, 3600), unit("s"), linger_words),
               param<&Params::repeat_header_s>("repeat_header_s", range(0, 86400), unit("s"), repeat_header_words),
               param<&Params::speed>("speed", range(0, 1e6), send_speed_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&) {
    return {.note = "a message of views, twice; and what waits in ZeroMQ: high_water_mark of them"};
  }

  ZmqViewSink(const Params& p, Context& context)
      : pixels_(p.pixels),
        sender_({.to = {p.pattern, p.endpoint, p.keys, p.high_water_mark, p.linger_s},
                 .repeat_header_s = p.repeat_header_s,
                 .speed = p.speed},
                context) {}

  void process(const ViewBatch& batch, Context& context) {
    if (batch.records.empty()) return;
    require_one_camera(batch);
    auto [header, bytes] = wire::write_views(on_host(batch.memory()) ? batch : copy_of(batch), pixels_);
    header.kind = wire::FrameKind::data;
    const std::uint64_t events = header.events;
    end_ns_ = std::max(end_ns_, header.start_ns + header.duration_ns);
    if (sender_.send(header, std::move(bytes), 1e-9 * static_cast<double>(header.start_ns + header.duration_ns)))
      context.books().written(events);
    else
      context.books().lost(events, not_sent_words);
  }

  void flush(Context& context) {
    if (!set_) return context.log().warning("no views came, and without them there is no header: nothing was sent");
    sender_.finish(end_ns_, context);
  }

 private:
  void require_one_camera(const ViewBatch& batch) {
    if (set_ == batch.set) return;
    if (set_ && !(*set_ == *batch.set))
      throw std::runtime_error("views of another camera or scan came: a stream has those of one");
    if (!set_)
      sender_.set_header(wire::write_camera_header(*batch.set, batch.quantity ? *batch.quantity : Quantity{}),
                         wire::camera_header);
    set_ = batch.set;
  }

  static ViewBatch copy_of(const ViewBatch& batch) {
    ViewBatch copy = batch.to(Memory::host);
    synchronize(nullptr);
    return copy;
  }

  const wire::ViewPixels pixels_;
  StreamSender sender_;
  std::shared_ptr<const ViewSet> set_;
  std::uint64_t end_ns_ = 0;
};

TOFSTREAM_GADGET(ZmqViewSink, "zmq_view_sink", "Sends a camera's views live over ZeroMQ, to a receiver or to monitors");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
