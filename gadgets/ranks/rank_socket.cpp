// Messages between processes: see rank_socket.hpp.
#include "gadgets/ranks/rank_socket.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <zmq.hpp>

#include "gadgets/stop_descriptor.hpp"
#include "gadgets/wire/wait_for_any.hpp"
#include "kernels/memory/signals_elsewhere.hpp"

namespace tofstream {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int signs_a_silence = 10;
// A link that does not carry a piece within a silence is taken for cut.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::uint64_t most_of_a_stranger = 1 << 20, most_of_a_rank = std::uint64_t{1} << 40;

/// A part of ZeroMQ's that lies where the piece does.
zmq::message_t message_of(const wire::PackedPiece& piece, std::size_t begin, std::size_t bytes) {
  auto* const owner = new std::shared_ptr<const void>(piece.owner);
  auto* const data = const_cast<std::byte*>(piece.bytes.data() + begin);  // NOLINT: sent, never written
  return {data, bytes, [](void*, void* hint) { delete static_cast<std::shared_ptr<const void>*>(hint); }, owner};
}

}  // namespace

namespace detail {

bool RankAssembly::add(std::span<const std::byte> frame, std::span<const std::byte> piece, std::uint64_t most_bytes) {
  RankFrame head;
  const RankFrame ours;
  if (frame.size() != sizeof(head)) throw std::runtime_error("no message of a rank");
  std::memcpy(&head, frame.data(), sizeof(head));
  if (std::memcmp(head.magic, ours.magic, sizeof(head.magic)) != 0 || head.version != ours.version)
    throw std::runtime_error("no message of a rank of this version");
  if (head.kind < static_cast<std::uint16_t>(RankMessageKind::hello) ||
      head.kind > static_cast<std::uint16_t>(RankMessageKind::log))
    throw std::runtime_error("an unknown message");
  if (head.offset == 0 && body_.empty()) begun_ = head;
  if (head.kind != begun_.kind || head.session != begun_.session || head.total != begun_.total ||
      head.offset != body_.size() || head.total > most_bytes || piece.size() > head.total - head.offset ||
      (piece.empty() && head.total > 0))
    throw std::runtime_error("a piece that does not fit the ones before it");
  make_room(piece.size());
  body_.insert(body_.end(), piece.begin(), piece.end());
  return body_.size() == head.total;
}

// Room grows with what has come, whatever the total is said to be, and never beyond the total.
void RankAssembly::make_room(std::size_t more) {
  constexpr std::size_t at_once = std::size_t{1} << 28;
  if (body_.capacity() - body_.size() >= more) return;
  body_.reserve(std::min<std::size_t>(begun_.total, std::max(at_once, 2 * body_.size() + more)));
}

RankMessage RankAssembly::take() {
  return {static_cast<RankMessageKind>(begun_.kind), begun_.session,
          std::make_shared<const std::vector<std::byte>>(std::exchange(body_, {}))};
}

}  // namespace detail

class RankSocket::Thread {
 public:
  explicit Thread(Settings settings)
      : settings_(std::move(settings)),
        between_signs_(settings_.silence / signs_a_silence),
        socket_(context_, binds() ? zmq::socket_type::router : zmq::socket_type::dealer) {
    const SignalsElsewhere of_threads;
    guard_.emplace(context_, socket_,
                   SocketGuard::Settings{.end = settings_.end,
                                         .endpoint = settings_.endpoint,
                                         .keys = settings_.keys,
                                         .warn = settings_.warn,
                                         .largest_message = 0});
    socket_.set(zmq::sockopt::sndhwm, 0);
    socket_.set(zmq::sockopt::rcvhwm, 0);
    socket_.set(zmq::sockopt::linger, 1000);
    if (binds())
      bind();
    else
      socket_.connect(settings_.endpoint);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Thread() { close(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  void send(const std::string& peer, RankMessageKind kind, std::uint32_t session,
            std::vector<wire::PackedPiece> pieces) {
    {
      const std::lock_guard lock(mutex_);
      outgoing_.push_back({peer, kind, session, std::move(pieces)});
    }
    woken_.raise();
  }
  void watch(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    watched_[peer] = {.heard = Clock::now(), .progressed = Clock::now()};
  }
  void unwatch(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    watched_.erase(peer);
  }
  void note_progress() { ++progress_; }
  Clock::time_point progressed_at(const std::string& peer) const {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(peer);
    return found == watched_.end() ? Clock::time_point() : found->second.progressed;
  }
  // The context waits for what lingers.
  void close() {
    const std::lock_guard closing(closing_);
    if (!thread_.joinable()) return;
    thread_.request_stop();
    woken_.raise();
    thread_.join();
    guard_.reset();
    socket_.close();
    context_.close();
  }
  void throw_if_refused() const { guard_->throw_if_refused(); }

 private:
  struct Watched {
    Clock::time_point heard, progressed;
    std::uint64_t progress = 0;  // that it told last
  };
  struct Outgoing {
    std::string peer;
    RankMessageKind kind;
    std::uint32_t session;
    std::vector<wire::PackedPiece> pieces;
  };

  bool binds() const { return settings_.end == SocketEnd::binds; }

  void bind() try { socket_.bind(settings_.endpoint); } catch (const zmq::error_t& error) {
    throw std::runtime_error(
        fmt::format("ranks cannot meet at {}: {}; name another port, or end the program that has it",
                    settings_.endpoint, error.what()));
  }

  void run(const std::stop_token& stop) {
    zmq::pollitem_t items[] = {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, woken_.number(), ZMQ_POLLIN, 0}};
    auto looked_at = Clock::now(), signed_at = looked_at - between_signs_;
    while (true) {
      const bool is_over = stop.stop_requested();
      send_all();
      if (is_over) return;
      wait_for_any(items, std::min(between_signs_ / 2, std::chrono::milliseconds(100)));
      woken_.clear();
      receive_some();
      const auto now = Clock::now();
      if (now - std::exchange(looked_at, now) > settings_.silence / 2) forgive(now);
      if (now - signed_at >= between_signs_) {
        signed_at = now;
        sign_and_miss(now);
      }
    }
  }

  // This process was halted itself, perhaps with all others: what it did not hear says nothing of them.
  void forgive(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    for (auto& [peer, watched] : watched_) watched.heard = watched.progressed = now;
  }

  void send_all() {
    std::deque<Outgoing> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(outgoing_);
    }
    for (const Outgoing& one : all) send_in_pieces(one);
  }

  void send_in_pieces(const Outgoing& message) {
    detail::RankFrame frame;
    frame.kind = static_cast<std::uint16_t>(message.kind);
    frame.session = message.session;
    for (const auto& piece : message.pieces) frame.total += piece.bytes.size();
    if (frame.total == 0) return send_piece(message.peer, frame, zmq::message_t());
    for (const auto& piece : message.pieces)
      for (std::size_t begin = 0; begin < piece.bytes.size(); begin += piece_bytes) {
        const std::size_t bytes = std::min(piece_bytes, piece.bytes.size() - begin);
        send_piece(message.peer, frame, message_of(piece, begin, bytes));
        frame.offset += bytes;
      }
  }

  // Never waits: there is no high-water mark. Who is gone is missed.
  void send_piece(const std::string& peer, const detail::RankFrame& frame, zmq::message_t piece) {
    if (binds()) socket_.send(zmq::buffer(peer), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(&frame, sizeof(frame)), zmq::send_flags::sndmore);
    socket_.send(std::move(piece), zmq::send_flags::none);
  }

  void receive_some() {
    constexpr int at_most = 64;  // so that signs of life go out
    for (int i = 0; i < at_most; ++i) {
      std::vector<zmq::message_t> parts(1);
      if (!socket_.recv(parts.front(), zmq::recv_flags::dontwait)) return;
      while (parts.back().more()) {
        parts.emplace_back();
        static_cast<void>(socket_.recv(parts.back()));
      }
      take(parts);
    }
    woken_.raise();  // there may be more, which the descriptor does not tell again
  }

  void take(std::vector<zmq::message_t>& parts) {
    const std::size_t head = binds() ? 1 : 0;
    if (parts.size() != head + 2) return;
    const std::string peer = binds() ? parts.front().to_string() : "";
    const auto bytes = [](const zmq::message_t& m) { return std::span(m.data<const std::byte>(), m.size()); };
    const bool is_known = note_heard(peer, bytes(parts[head]), bytes(parts[head + 1])) || !binds();
    try {
      detail::RankAssembly& assembly = assemblies_[peer];
      if (!assembly.add(bytes(parts[head]), bytes(parts[head + 1]), is_known ? most_of_a_rank : most_of_a_stranger))
        return;
      RankMessage message = assembly.take();
      if (message.kind == RankMessageKind::alive) return;
      if (!is_known && message.kind != RankMessageKind::hello) return;
      settings_.came(peer, std::move(message));
    } catch (const std::exception& error) {
      assemblies_.erase(peer);
      if (settings_.warn)
        settings_.warn(fmt::format("a message at {} is left out: {}", settings_.endpoint, error.what()));
    }
  }

  // Signs of life tell of progress; pieces of other messages are progress themselves, of both ends. False where the
  // peer is not watched.
  bool note_heard(const std::string& peer, std::span<const std::byte> frame, std::span<const std::byte> piece) {
    detail::RankFrame head;
    if (frame.size() == sizeof(head)) std::memcpy(&head, frame.data(), sizeof(head));
    const bool is_sign = head.kind == static_cast<std::uint16_t>(RankMessageKind::alive);
    if (!is_sign) ++progress_;
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(peer);
    if (found == watched_.end()) return false;
    Watched& watched = found->second;
    watched.heard = Clock::now();
    std::uint64_t told = watched.progress;
    if (is_sign && piece.size() == sizeof(told)) std::memcpy(&told, piece.data(), sizeof(told));
    if (!is_sign || std::exchange(watched.progress, told) != told) watched.progressed = watched.heard;
    return true;
  }

  void sign_and_miss(Clock::time_point now) {
    std::vector<std::string> known, silent;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [peer, watched] : watched_)
        (now - watched.heard > settings_.silence ? silent : known).push_back(peer);
      for (const auto& peer : silent) watched_.erase(peer);
    }
    wire::PackWriter to;
    for (const auto& peer : known) {
      to.value(progress_.load());
      send_in_pieces({peer, RankMessageKind::alive, 0, to.take()});
    }
    for (const auto& peer : silent) settings_.lost(peer);
  }

  const Settings settings_;
  const std::chrono::milliseconds between_signs_;
  zmq::context_t context_;
  zmq::socket_t socket_;
  std::optional<SocketGuard> guard_;
  EventDescriptor woken_;
  mutable std::mutex mutex_;
  std::deque<Outgoing> outgoing_;
  std::map<std::string, Watched> watched_;
  std::map<std::string, detail::RankAssembly> assemblies_;
  std::atomic<std::uint64_t> progress_ = 0;  // pieces that came and steps of work that were done
  std::mutex closing_;
  std::jthread thread_;
};

RankSocket::RankSocket(Settings settings) : thread_(std::make_unique<Thread>(std::move(settings))) {}
RankSocket::~RankSocket() = default;

void RankSocket::send(const std::string& peer, RankMessageKind kind, std::uint32_t session,
                      std::vector<wire::PackedPiece> pieces) {
  thread_->send(peer, kind, session, std::move(pieces));
}
void RankSocket::watch(const std::string& peer) {
  thread_->watch(peer);
}
void RankSocket::unwatch(const std::string& peer) {
  thread_->unwatch(peer);
}
void RankSocket::note_progress() {
  thread_->note_progress();
}
Clock::time_point RankSocket::progressed_at(const std::string& peer) const {
  return thread_->progressed_at(peer);
}
void RankSocket::close() {
  thread_->close();
}
void RankSocket::throw_if_refused() const {
  thread_->throw_if_refused();
}

std::vector<wire::PackedPiece> packed_text(const std::string& text) {
  wire::PackWriter writer;
  writer.text(text);
  return writer.take();
}

std::string text_of(const RankMessage& message) {
  wire::PackReader reader(*message.body);
  std::string text = reader.text();
  reader.require_end();
  return text;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
