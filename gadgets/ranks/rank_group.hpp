// The ranks of a run that are other processes, as the first one sees them: who they are, a channel to each for every
// gadget that lets them project, and what becomes of the run where one is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/ranks/rank_socket.hpp"

namespace tofstream {

/// Which of how many processes.
struct RankPlace {
  int rank = 0, ranks = 1;
};

/// What a process says of itself. All ranks of a run must have `program` and `pipeline` alike.
struct RankIdentity {
  RankPlace place;
  std::string host;
  int gpus = 0;          // that CUDA can use there
  std::string program;   // version, commit and plug-ins, in words
  std::string pipeline;  // as it was checked, with every default
  std::string problem;   // why it cannot take part; empty: it can
};

/// Of the run that this process begins. Throws std::runtime_error where a name cannot be had.
RankIdentity identity_of(const RankPlace& place, std::string program, std::string pipeline);
std::string this_host();

std::vector<wire::PackedPiece> packed(const RankIdentity& identity);
RankIdentity unpack_identity(const RankMessage& message);

class RankGroup;

/// A gadget's line to one rank. One thread at a time.
class RankChannel {
 public:
  RankChannel(RankGroup& group, int rank, std::uint32_t session) : group_(group), rank_(rank), session_(session) {}

  void send(RankMessageKind kind, std::vector<wire::PackedPiece> pieces);
  /// The rank's next answer. Throws std::runtime_error, in words that follow "rank 2, on HOST: ", for what the rank
  /// threw, a rank that is lost, and one whose answer has not come at `deadline()`, which is asked again and again.
  RankMessage answer(RankMessageKind kind, const std::function<std::chrono::steady_clock::time_point()>& deadline);
  const std::string& host() const;

 private:
  RankGroup& group_;
  int rank_;
  std::uint32_t session_;
};

class RankGroup {
 public:
  struct Settings {
    RankIdentity own;  // of rank 0
    std::string endpoint;
    KeyParams keys = {};
    std::chrono::milliseconds patience{30'000};  // for all others to come
    std::function<void(std::string_view)> warn = {};
    std::function<bool()> is_interrupted = {};
  };
  /// Waits for all others. Throws std::runtime_error in one line where the place to meet cannot be had, some do not
  /// come, or are no ranks of this run, which they are told.
  explicit RankGroup(Settings settings);
  /// Tells all that the run is over, unless end() did, with exit code 1.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int ranks() const;
  /// Of rank 1 and up, and of the first.
  const RankIdentity& identity(int rank) const;
  /// How many ranks with a lower number its host has: the number of its GPU.
  int number_on_host(int rank) const;
  std::uint32_t new_session();

  /// Called once, from another thread, where a rank is lost while no gadget waits for it, with words for the user.
  void when_lost(std::function<void(const std::string&)> tell);
  /// The run is over; the others end with this code.
  void end(int exit_code);

 private:
  friend class RankChannel;
  class State;
  std::unique_ptr<State> state_;
};

/// The group that this process is the first of; null: it is alone. Gadgets that share work with ranks ask it.
RankGroup* rank_group();

/// Makes a group that of this process while it lives.
class RankGroupInUse {
 public:
  explicit RankGroupInUse(RankGroup& group);
  ~RankGroupInUse();
  RankGroupInUse(const RankGroupInUse&) = delete;
  RankGroupInUse& operator=(const RankGroupInUse&) = delete;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
