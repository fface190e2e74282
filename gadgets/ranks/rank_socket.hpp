// Messages between the processes of one reconstruction over ZeroMQ: the first rank binds, the others connect. A thread
// of the socket sends and receives; long messages go in pieces, from where they lie. Each end says twice a second that
// it is there, and how far it has come, so that whoever vanishes, is halted or cut off is missed by the others within
// seconds, and who gets no further is told from who has much to send, to receive or to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/io/wire/packed.hpp"
#include "gadgets/wire/socket_guard.hpp"

namespace tofstream {

enum class RankMessageKind : std::uint16_t {
  hello = 1,    // a rank: who it is
  welcome = 2,  // the first: all are there
  refuse = 3,   // the first: this run does not begin; text
  alive = 4,
  open = 5,          // the first: a gadget's projector
  table = 6,         // the first: detectors or a set of views, under a number
  batch = 7,         // the first: data, under a number
  terms = 8,         // the first: additive terms of a batch
  forget = 9,        // the first: numbers of batches that come no more
  pass = 10,         // the first: an estimate, and what is to be projected against it
  sums = 11,         // a rank: back projections and tallies, the answer to a pass, or to pairs or lines
  ready = 12,        // a rank: the answer to `open`
  failed = 13,       // a rank: what it threw; text
  end = 14,          // the first: the run is over, with an exit code
  sensitivity = 15,  // the first: a gadget's projector, for a sensitivity
  pairs = 16,        // the first: which pairs of detectors are to be projected
  lines = 17,        // the first: lines of a histogram that are to be projected
  close = 18,        // the first: a session is over
  share = 19,        // the first: which part of its host a group takes, and the folder of all groups
  log = 20,          // a group: a line of its log; level, text
};

struct RankMessage {
  RankMessageKind kind = RankMessageKind::alive;
  std::uint32_t session = 0;                           // which gadget's
  std::shared_ptr<const std::vector<std::byte>> body;  // never null
};

/// The wait for a sign of life of another rank, after which it is lost.
inline constexpr std::chrono::seconds rank_silence{5};

class RankSocket {
 public:
  struct Settings {
    SocketEnd end = SocketEnd::binds;
    std::string endpoint;
    KeyParams keys = {};
    std::function<void(std::string_view)> warn = {};
    /// From the socket's thread. A peer is known by its name, the first rank by "".
    std::function<void(const std::string& peer, RankMessage message)> came = {};
    std::function<void(const std::string& peer)> lost = {};
    std::chrono::milliseconds silence = rank_silence;
  };
  /// Throws std::invalid_argument or std::runtime_error in one line for an endpoint that cannot be had, or keys.
  explicit RankSocket(Settings settings);
  /// See close().
  ~RankSocket();
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;

  /// From any thread; does not wait. Pieces without an owner must outlive the answer.
  void send(const std::string& peer, RankMessageKind kind, std::uint32_t session,
            std::vector<wire::PackedPiece> pieces);
  /// From now on signs of life are sent to it and missed from it; only such peers may send more than a hello.
  void watch(const std::string& peer);
  void unwatch(const std::string& peer);
  /// This end's work goes on, which the next sign of life tells. From any thread.
  void note_progress();
  /// When bytes of a peer's message came last, or the peer said that such bytes had come to it, or that its work went
  /// on. The clock's first moment where it is not watched.
  std::chrono::steady_clock::time_point progressed_at(const std::string& peer) const;
  /// Waits for what was sent to go out, for a second at most. Nothing is sent or received any more.
  void close();
  /// Of the end that connects: throws std::runtime_error where the other end refuses its key.
  void throw_if_refused() const;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

std::vector<wire::PackedPiece> packed_text(const std::string& text);
/// Throws std::runtime_error where the message is no text.
std::string text_of(const RankMessage& message);

namespace detail {

/// What stands before each piece of a message.
struct RankFrame {
  char magic[8] = {'t', 'o', 'f', 'r', 'a', 'n', 'k', 's'};
  std::uint16_t version = 3;
  std::uint16_t kind = 0;
  std::uint32_t session = 0;
  std::uint64_t total = 0, offset = 0;  // bytes of the message, and where the piece belongs
};

/// Puts the pieces of one peer's messages together. They come in order; what does not fit is refused.
class RankAssembly {
 public:
  /// `piece` comes behind `frame`; true once the message is whole, which take() then gives. Throws std::runtime_error
  /// for bytes that are no piece of such a message.
  bool add(std::span<const std::byte> frame, std::span<const std::byte> piece, std::uint64_t most_bytes);
  RankMessage take();

 private:
  void make_room(std::size_t more);

  RankFrame begun_;
  std::vector<std::byte> body_;
};

}  // namespace detail
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
