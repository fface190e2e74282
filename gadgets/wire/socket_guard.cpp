// Keys and handshakes of one socket: see socket_guard.hpp.
#include "gadgets/wire/socket_guard.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zmq.hpp>

#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/endpoint.hpp"
#include "gadgets/wire/key_files.hpp"
#include "gadgets/wire/unfinished_messages.hpp"
#include "gadgets/wire/wait_for_any.hpp"

namespace tofstream {
namespace {

constexpr auto* zap_endpoint = "inproc://zeromq.zap.01";  // where libzmq asks, by RFC 27
constexpr auto* monitor_endpoint = "inproc://handshakes";
constexpr auto* keys_help = "make them with 'tofstream keys new' (tofstream docs network)";

std::string text_of(const zmq::message_t& message) {
  return {static_cast<const char*>(message.data()), message.size()};
}

std::vector<zmq::message_t> received(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  do {
    parts.emplace_back();
    static_cast<void>(socket.recv(parts.back()));
  } while (parts.back().more());
  return parts;
}

void require_key_params(const KeyParams& keys, SocketEnd end) {
  if (keys.own.empty())
    throw std::invalid_argument(fmt::format("keys.own (--key) is missing, this end's secret key: {}", keys_help));
  const bool binds = end == SocketEnd::binds;
  if (binds ? keys.allowed.empty() : keys.server.empty())
    throw std::invalid_argument(
        binds ? "keys.allowed (--allowed-keys) is missing: the public key, or a folder of them, "
                "of those who may connect here"
              : "keys.server (--server-key) is missing: the public key of the other side, to which this connects");
  if (binds ? !keys.server.empty() : !keys.allowed.empty())
    throw std::invalid_argument(binds ? "keys.server (--server-key) is for the end that connects, and others connect "
                                        "to this end: name keys.allowed"
                                      : "keys.allowed (--allowed-keys) is for the end that others connect to, and this "
                                        "end connects: name keys.server");
}

enum class Fault { unknown_key, wrong_server_key, keys_differ, other };

// What an event of the socket's monitor tells, which libzmq numbers in zmq.h.
Fault fault_of(std::uint16_t event, std::uint32_t value) {
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return Fault::unknown_key;
  if (event != ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) return Fault::other;
  if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return Fault::keys_differ;
  return value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC ? Fault::wrong_server_key : Fault::other;
}

}  // namespace

class SocketGuard::Watch {
 public:
  Watch(zmq::context_t& context, zmq::socket_t& socket, Settings settings)
      : settings_(std::move(settings)),
        socket_(socket),
        unfinished_(settings_.largest_message, settings_.keys.any()),
        zap_(context, zmq::socket_type::rep),
        monitor_(context, zmq::socket_type::pair) {
    require_endpoint(settings_.endpoint, settings_.keys.any());
    if (settings_.keys.any()) apply_keys();
    constexpr int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                           ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    if (zmq_socket_monitor(socket_.handle(), monitor_endpoint, events) != 0) throw zmq::error_t();
    monitor_.connect(monitor_endpoint);
    thread_ = std::jthread([this](const std::stop_token& stop) { watch_or_warn(stop); });
  }
  ~Watch() {
    thread_ = {};
    zmq_socket_monitor(socket_.handle(), nullptr, 0);
  }

  UnfinishedMessages& unfinished() { return unfinished_; }
  void cut_unfinished() {
    const std::size_t cut = unfinished_.cut();
    refused_ += cut;
    if (cut > 0 && settings_.warn && !std::exchange(has_warned_of_cut_, true))
      settings_.warn(fmt::format(
          "a connection to {} is cut: it sent more than {} bytes without an end of its message (the first such; "
          "they are counted)",
          settings_.endpoint, settings_.largest_message));
  }

  bool is_connected() const { return peer_ == Peer::there; }
  bool has_left() const { return peer_ == Peer::gone; }
  std::uint64_t refused() const { return refused_; }
  int refused_descriptor() const { return refused_event_.number(); }
  void throw_if_refused() const {
    if (!refused_for_good_.stop_requested()) return;
    const std::lock_guard lock(mutex_);
    throw std::runtime_error(why_refused_);
  }

 private:
  bool binds() const { return settings_.end == SocketEnd::binds; }

  void apply_keys() {
    require_key_params(settings_.keys, settings_.end);
    if (zmq_has("curve") == 0) throw std::runtime_error("this libzmq has no CURVE: install one that has libsodium");
    own_ = read_secret_key(settings_.keys.own);
    socket_.set(zmq::sockopt::curve_secretkey, own_.z85);
    socket_.set(zmq::sockopt::curve_publickey, own_.public_z85);
    if (!binds()) {
      socket_.set(zmq::sockopt::curve_serverkey, read_public_key(settings_.keys.server).z85);
      return;
    }
    public_keys();  // so that a mistake is told at the start
    socket_.set(zmq::sockopt::curve_server, true);
    socket_.set(zmq::sockopt::zap_domain, "tofstream");
    zap_.bind(zap_endpoint);
  }

  // Where it fails nobody answers for the keys any more, and so nobody else connects.
  void watch_or_warn(const std::stop_token& stop) {
    try {
      watch(stop);
    } catch (const std::exception& error) {
      if (settings_.warn)
        settings_.warn(fmt::format("{} takes no further connections: {}", settings_.endpoint, error.what()));
    }
  }

  void watch(const std::stop_token& stop) {
    const StopDescriptor stopped(stop);
    zmq::pollitem_t items[] = {{zap_.handle(), 0, ZMQ_POLLIN, 0},
                               {monitor_.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, stopped.number(), ZMQ_POLLIN, 0}};
    while (!stop.stop_requested()) {
      wait_for_any(items, std::chrono::milliseconds(-1));
      if ((items[0].revents & ZMQ_POLLIN) != 0) answer();
      if ((items[1].revents & ZMQ_POLLIN) != 0) take_event();
    }
  }

  // A file that is no key is told of once, not at each connection.
  std::vector<PublicKey> public_keys() {
    return read_public_keys(settings_.keys.allowed, [this](std::string_view text) {
      if (settings_.warn && warned_of_keys_.emplace(text).second) settings_.warn(text);
    });
  }

  // Those that may connect now: a key that was added or taken away since counts. Where they cannot be read nobody may.
  std::vector<PublicKey> allowed_keys() {
    try {
      return public_keys();
    } catch (const std::runtime_error& error) {
      if (settings_.warn)
        settings_.warn(fmt::format("a connection to {} is refused: {}", settings_.endpoint, error.what()));
      return {};
    }
  }

  // Version, number, domain, address, identity, mechanism, key: libzmq asks; who has the key, or 400, is answered.
  void answer() {
    const auto request = received(zap_);
    const bool is_curve = request.size() == 7 && text_of(request[5]) == "CURVE" && request[6].size() == 32;
    std::array<char, 41> key{};
    if (is_curve) zmq_z85_encode(key.data(), request[6].data<std::uint8_t>(), request[6].size());
    const auto allowed = allowed_keys();
    const auto known = std::ranges::find(allowed, std::string_view(key.data()), &PublicKey::z85);
    const bool passes = is_curve && known != allowed.end();
    if (!passes && request.size() > 3) refused_key_ = fmt::format("{} from {}", key.data(), text_of(request[3]));
    const std::string number = request.size() > 1 ? text_of(request[1]) : "";
    const std::string reply[] = {
        "1.0", number, passes ? "200" : "400", passes ? "" : "unknown key", passes ? known->name : "", ""};
    for (std::size_t k = 0; k < std::size(reply); ++k)
      zap_.send(zmq::buffer(reply[k]), k + 1 < std::size(reply) ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }

  void take_event() {
    const auto parts = received(monitor_);
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    if (parts[0].size() != sizeof(event) + sizeof(value)) return;
    std::memcpy(&event, parts[0].data(), sizeof(event));
    std::memcpy(&value, parts[0].data<char>() + sizeof(event), sizeof(value));
    if (event == ZMQ_EVENT_ACCEPTED || event == ZMQ_EVENT_CONNECTED) return unfinished_.opened(static_cast<int>(value));
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED || event == ZMQ_EVENT_DISCONNECTED) {
      peer_ = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED ? Peer::there : Peer::gone;
      return;
    }
    ++refused_;
    const Fault fault = fault_of(event, value);
    if (binds())
      warn_once(fault, bound_words(fault));
    else if (fault == Fault::other)
      warn_once(fault, connecting_words(fault));
    else
      refuse_for_good(connecting_words(fault));
  }

  void warn_once(Fault fault, const std::string& words) {
    if (settings_.warn && warned_of_.insert(fault).second) settings_.warn(words);
  }

  void refuse_for_good(const std::string& words) {
    {
      const std::lock_guard lock(mutex_);
      if (why_refused_.empty()) why_refused_ = words;
    }
    refused_for_good_.request_stop();
  }

  std::string bound_words(Fault fault) const {
    const auto what = [&]() -> std::string {
      switch (fault) {
        case Fault::unknown_key:
          return fmt::format("its key is not among those of {}: {}", settings_.keys.allowed.string(), refused_key_);
        case Fault::wrong_server_key:
          return fmt::format("it has another public key for this end than that of {}", settings_.keys.own.string());
        case Fault::keys_differ:
          return own_.z85.empty() ? "it has keys, and this end has none" : "it has no keys";
        case Fault::other:
          break;
      }
      return own_.z85.empty() ? "it ended, or is no ZeroMQ" : "it ended, has no keys, or is no ZeroMQ";
    }();
    return fmt::format("a connection to {} failed: {} (the first such; they are counted)", settings_.endpoint, what);
  }

  std::string connecting_words(Fault fault) const {
    const auto what = [&]() -> std::string {
      switch (fault) {
        case Fault::unknown_key:
          return fmt::format("it does not know the key '{}' ({}): have {}.public.yaml put among its keys.allowed",
                             own_.name, own_.public_z85, own_.name);
        case Fault::wrong_server_key:
          return fmt::format("its key is another than that of {}", settings_.keys.server.string());
        case Fault::keys_differ:
          return own_.z85.empty()
                     ? fmt::format("it asks for keys: name keys.own (--key) and keys.server (--server-key); {}",
                                   keys_help)
                     : "it has no keys: leave 'keys' out, or give it some";
        case Fault::other:
          break;
      }
      return own_.z85.empty() ? "it ended the connection at once; does it ask for keys? Trying again"
                              : fmt::format("it ended the connection at once; is {} its public key? Trying again",
                                            settings_.keys.server.string());
    }();
    return fmt::format("no connection to {}: {}", settings_.endpoint, what);
  }

  const Settings settings_;
  zmq::socket_t& socket_;
  UnfinishedMessages unfinished_;
  bool has_warned_of_cut_ = false;  // of the receiving thread
  zmq::socket_t zap_, monitor_;
  SecretKey own_;
  enum class Peer { not_yet, there, gone };
  std::atomic<Peer> peer_ = Peer::not_yet;  // of the end that connects, its one other end
  std::atomic<std::uint64_t> refused_ = 0;
  std::string refused_key_;  // the latest that is unknown, and where it came from
  std::set<Fault> warned_of_;
  std::set<std::string> warned_of_keys_;
  mutable std::mutex mutex_;
  std::string why_refused_;
  std::stop_source refused_for_good_;
  const StopDescriptor refused_event_{refused_for_good_.get_token()};
  std::jthread thread_;  // last: it uses the rest
};

SocketGuard::SocketGuard(zmq::context_t& context, zmq::socket_t& socket, Settings settings)
    : watch_(std::make_unique<Watch>(context, socket, std::move(settings))) {}

SocketGuard::~SocketGuard() = default;

bool SocketGuard::is_connected() const {
  return watch_->is_connected();
}

bool SocketGuard::has_left() const {
  return watch_->has_left();
}

std::uint64_t SocketGuard::refused() const {
  return watch_->refused();
}

int SocketGuard::refused_descriptor() const {
  return watch_->refused_descriptor();
}

void SocketGuard::throw_if_refused() const {
  watch_->throw_if_refused();
}

void SocketGuard::look() {
  watch_->unfinished().look();
}

void SocketGuard::took(zmq::message_t& message) {
  watch_->unfinished().took(message);
}

void SocketGuard::cut_unfinished() {
  watch_->cut_unfinished();
}

std::chrono::milliseconds SocketGuard::longest_wait() const {
  // An endless message wakes nobody. So much of it may come before it is seen: at 1 GB/s, 20 MB.
  constexpr std::chrono::milliseconds between_looks{20}, until_the_first{200};
  return watch_->unfinished().has_any() ? between_looks : until_the_first;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
