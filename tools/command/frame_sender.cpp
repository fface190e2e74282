// Messages to a zmq_source: see frame_sender.hpp.
#include "tools/command/frame_sender.hpp"

#include <chrono>
#include <iterator>

#include <zmq.hpp>

#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/endpoint.hpp"

namespace tofstream::command {

namespace {

constexpr int linger_ms = 60'000;

bool send_message(zmq::socket_t& socket, zmq::message_t message, const std::stop_token& stop) {
  const StopDescriptor stopped(stop);
  zmq::pollitem_t items[] = {{socket.handle(), 0, ZMQ_POLLOUT, 0}, {nullptr, stopped.number(), ZMQ_POLLIN, 0}};
  while (!socket.send(message, zmq::send_flags::dontwait)) {
    if (stop.stop_requested()) {
      socket.set(zmq::sockopt::linger, 0);
      return false;
    }
    zmq::poll(items, std::size(items), std::chrono::milliseconds(-1));
  }
  return true;
}

}  // namespace

struct FrameSender::Sockets {
  zmq::context_t context;
  zmq::socket_t socket{context, zmq::socket_type::push};
};

FrameSender::FrameSender(const std::string& endpoint) {
  require_endpoint(endpoint, false);
  sockets_ = std::make_unique<Sockets>();
  sockets_->socket.set(zmq::sockopt::linger, linger_ms);
  sockets_->socket.set(zmq::sockopt::immediate, true);  // without a receiver nothing is queued
  sockets_->socket.connect(endpoint);
}

FrameSender::~FrameSender() = default;

bool FrameSender::send(std::span<const std::byte> frame, const std::stop_token& stop) {
  return send_message(sockets_->socket, zmq::message_t(frame.data(), frame.size()), stop);
}

bool FrameSender::send_in_place(std::span<const std::byte> frame, const std::stop_token& stop) {
  const auto keep = [](void*, void*) {};
  return send_message(sockets_->socket, zmq::message_t(const_cast<std::byte*>(frame.data()), frame.size(), keep), stop);
}

}  // namespace tofstream::command
