// See unfinished_messages.hpp.
#include "gadgets/wire/unfinished_messages.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <linux/tcp.h>  // newer than the C library's: its tcp_info counts bytes
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.hpp>

namespace tofstream {
namespace {

// Handshakes, heartbeats and what libzmq reads at a time are not messages: so much, and so much more each second.
constexpr std::uint64_t allowance_bytes = 1 << 20, allowance_bytes_per_s = 1 << 10;

std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<std::uint64_t> cookie_of(int descriptor) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return {};
  return cookie;
}

// A second descriptor of the same socket: whatever libzmq closes meanwhile, it stays this socket's.
class Duplicate {
 public:
  explicit Duplicate(int descriptor) : number_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}
  ~Duplicate() {
    if (number_ >= 0) ::close(number_);
  }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// What a program has read from a connection; none where it is not of tcp, or is no more.
std::optional<std::uint64_t> bytes_read(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof info;
  int unread = 0;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received ||
      ::ioctl(descriptor, FIONREAD, &unread) != 0)
    return {};
  const auto waiting = static_cast<std::uint64_t>(unread);
  return info.tcpi_bytes_received > waiting ? info.tcpi_bytes_received - waiting : 0;
}

// A message on the wire, by RFC 23 (ZMTP) and RFC 26 (CURVE), and no less than it.
std::uint64_t wire_bytes(std::size_t bytes, bool is_encrypted) {
  constexpr std::uint64_t sealed = 33, head = 10;
  return bytes + head + (is_encrypted ? sealed : 0);
}

}  // namespace

void UnfinishedMessages::opened(int descriptor) {
  if (largest_ == 0) return;
  const std::lock_guard lock(mutex_);
  descriptors_.insert(descriptor);
}

bool UnfinishedMessages::has_any() const {
  const std::lock_guard lock(mutex_);
  return !descriptors_.empty();
}

void UnfinishedMessages::look() {
  if (largest_ == 0) return;
  const std::lock_guard lock(mutex_);
  for (auto& [cookie, connection] : connections_) connection.descriptor = -1;
  for (auto at = descriptors_.begin(); at != descriptors_.end();) {
    const Duplicate socket(*at);
    const auto cookie = cookie_of(socket.number());
    const auto read = cookie ? bytes_read(socket.number()) : std::nullopt;
    if (!read) {
      at = descriptors_.erase(at);
      continue;
    }
    Connection& connection = connections_[*cookie];
    if (connection.since_ns == 0) connection.since_ns = now_ns();
    connection.descriptor = *at++;
    connection.brought = *read;
  }
  // One that has given messages, but whose opening is yet to be told, stays.
  std::erase_if(connections_,
                [](const auto& entry) { return entry.second.descriptor < 0 && entry.second.since_ns != 0; });
}

void UnfinishedMessages::took(zmq::message_t& message) {
  if (largest_ == 0) return;
  // Where it is closed by now, and another has its number, that one is given a message that it did not send: it may
  // then bring one more than allowed, once.
  const int descriptor = zmq_msg_get(message.handle(), ZMQ_SRCFD);
  if (const auto cookie = descriptor >= 0 ? cookie_of(descriptor) : std::nullopt)
    connections_[*cookie].taken += wire_bytes(message.size(), is_encrypted_);
}

std::size_t UnfinishedMessages::cut() {
  std::size_t cut = 0;
  for (auto& [cookie, connection] : connections_) {
    const auto seconds = static_cast<std::uint64_t>((now_ns() - connection.since_ns) / 1'000'000'000);
    const std::uint64_t allowed = connection.taken + largest_ + allowance_bytes + seconds * allowance_bytes_per_s;
    if (connection.is_cut || connection.descriptor < 0 || connection.brought <= allowed) continue;
    const Duplicate socket(connection.descriptor);
    if (cookie_of(socket.number()) != std::optional(cookie)) continue;  // it is closed already
    // The peer is reset once libzmq closes, which it does as it finds the end here: it may wait for room to send in.
    constexpr linger at_once{1, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    connection.is_cut = ::shutdown(socket.number(), SHUT_RDWR) == 0;
    cut += connection.is_cut;
  }
  return cut;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
