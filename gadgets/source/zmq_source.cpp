// Receives a live stream over ZeroMQ (PULL, bound), frame by frame (share/doc/wire.md), until its end or a stop.
#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <fmt/format.h>
#include <zmq.hpp>

#include "core/gadget.hpp"
#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/endpoint.hpp"
#include "gadgets/wire/stream_receiver.hpp"

namespace tofstream {
namespace {

using Clock = std::chrono::steady_clock;

struct ZmqSource {
  struct Params {
    std::string endpoint = "tcp://127.0.0.1:5555";
    int high_water_mark = 64;
    int largest_frame_mib = 64;
    double late_s = 1;
  };
  static constexpr auto params =
      describe(param<&Params::endpoint>("endpoint",
                                        "Where senders connect: tcp://127.0.0.1:PORT or ipc://PATH, on this machine"),
               param<&Params::high_water_mark>("high_water_mark", range(1, 1 << 20),
                                               "Frames that wait in ZeroMQ for each sender; then the sender waits"),
               param<&Params::largest_frame_mib>("largest_frame_mib", range(1, 1024), unit("MiB"),
                                                 "A sender of a larger frame is disconnected"),
               param<&Params::late_s>("late_s", range(0, 3600), unit("s"),
                                      "How long missing frames are waited for after the end of the stream"));
  static MemoryNeed memory(const Params& p) {
    return {.host_bytes = std::size_t{2} * static_cast<std::size_t>(p.largest_frame_mib) << 20,
            .lower = "largest_frame_mib",
            .note = "and what waits in ZeroMQ: high_water_mark frames for each sender"};
  }

  explicit ZmqSource(const Params& p) : late_(p.late_s), socket_(zmq_, zmq::socket_type::pull) {
    require_local_endpoint(p.endpoint);
    socket_.set(zmq::sockopt::rcvhwm, p.high_water_mark);
    socket_.set(zmq::sockopt::maxmsgsize, std::int64_t{p.largest_frame_mib} << 20);
    socket_.set(zmq::sockopt::linger, 0);
    try {
      socket_.bind(p.endpoint);
    } catch (const zmq::error_t& error) {
      throw std::runtime_error(
          fmt::format("cannot receive at {}: {}; name another endpoint where another program "
                      "receives there",
                      p.endpoint, error.what()));
    }
  }

  void run(Emit<LiveStream>& emit, std::stop_token stop, Context& context) {
    const StopDescriptor stopped(stop);
    StreamReceiver receiver(emit, context);
    std::optional<Clock::time_point> deadline;
    while (!stop.stop_requested() && !receiver.is_complete()) {
      if (receiver.has_ended() && !deadline) deadline = Clock::now() + std::chrono::ceil<Clock::duration>(late_);
      if (deadline && Clock::now() >= *deadline) break;
      wait(stopped, deadline);
      take_what_is_there(receiver, stop);
    }
    receiver.finish();
  }

 private:
  void wait(const StopDescriptor& stopped, const std::optional<Clock::time_point>& deadline) {
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, stopped.number(), ZMQ_POLLIN, 0}};
    const auto left = deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now())
                               : std::chrono::milliseconds(-1);
    zmq::poll(items, std::size(items), deadline ? std::max(left, std::chrono::milliseconds(0)) : left);
  }

  void take_what_is_there(StreamReceiver& receiver, const std::stop_token& stop) {
    zmq::message_t message;
    while (!stop.stop_requested() && !receiver.is_complete() && socket_.recv(message, zmq::recv_flags::dontwait))
      receiver.take({static_cast<const std::byte*>(message.data()), message.size()});
  }

  std::chrono::duration<double> late_;
  zmq::context_t zmq_;
  zmq::socket_t socket_;
};

TOFSTREAM_GADGET(ZmqSource, "zmq_source", "Receives list mode live over ZeroMQ, on this machine");

}  // namespace
}  // namespace tofstream
