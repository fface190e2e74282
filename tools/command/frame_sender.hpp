// Sends messages to a zmq_source, as they are.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

namespace tofstream::command {

class FrameSender {
 public:
  /// Connects (PUSH); the receiver may come later. Throws std::invalid_argument for an endpoint that others can reach.
  explicit FrameSender(const std::string& endpoint);
  /// Waits until what was sent has been taken, for at most a minute; not after a stop.
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  /// Waits for a receiver that has room; false at the stop. The bytes are copied.
  bool send(std::span<const std::byte> frame, const std::stop_token& stop = {});
  /// The same without a copy: the bytes must outlive what is made of them.
  bool send_in_place(std::span<const std::byte> frame, const std::stop_token& stop = {});

 private:
  struct Sockets;
  std::unique_ptr<Sockets> sockets_;
};

}  // namespace tofstream::command
