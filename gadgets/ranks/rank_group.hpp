// The ranks of a run that are other processes, as the first one sees them: who they are, a channel to each for every
// gadget that lets them project, and what becomes of the run where one is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gadgets/ranks/rank_socket.hpp"

namespace tofstream {

/// Which of how many processes.
struct RankPlace {
  int rank = 0, ranks = 1;
};

/// How images get from one process to another. Automatic: between GPUs by NCCL, between processes on CPUs by MPI, where
/// all are on one host and have it. Between hosts these must be asked for, since their connections are neither
/// encrypted nor authenticated.
enum class ImageRoute { automatic, nccl, mpi, messages };

/// What a process says of itself. All ranks of a run must have `program` and `pipeline` alike.
struct RankIdentity {
  RankPlace place;
  std::string host;
  int gpus = 0;          // that CUDA can use there
  std::string program;   // version, commit and plug-ins, in words
  std::string pipeline;  // as it was checked, with every default
  std::string problem;   // why it cannot take part; empty: it can
  int nccl = 0;          // its version (kernels/collective/nccl.hpp); 0: there is none
  std::string no_nccl;   // why
  std::string mpi;       // the MPI that its launcher has started it with (kernels/collective/mpi.hpp); empty: none
  std::string no_mpi;    // why
  std::string cores;     // that the process may use, by number: "0,1,2"
  std::string devices;   // CUDA_VISIBLE_DEVICES
};

/// Of the run that this process begins. Throws std::runtime_error where a name cannot be had.
RankIdentity identity_of(const RankPlace& place, std::string program, std::string pipeline);
/// The same of a process that CUDA has not looked at the GPUs of, so that it may still be given some of them: those
/// that the driver names are counted. It knows no NCCL.
RankIdentity identity_before_cuda(const RankPlace& place, std::string program, std::string pipeline);
std::string this_host();

std::vector<wire::PackedPiece> packed(const RankIdentity& identity);
RankIdentity unpack_identity(const RankMessage& message);

/// What ended a run's use of its ranks first.
struct RankFailure {
  std::uint32_t session = 0;  // that it happened in; 0: the rank is lost to all
  std::string gadget;         // of that session, or one that waited for the rank; empty: none did
  std::string what;           // in words for the user, which begin with the rank and its host
};

/// Thrown to who waits for ranks that have failed; what() is the failure's.
struct RankFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown to who works for or waits for what nobody needs any more, since the run ends or a rank has failed: never the
/// cause.
struct BrokenOff : std::runtime_error {
  BrokenOff() : std::runtime_error("broken off, since the run ends or another rank failed") {}
};

/// How long a gadget waits for a rank. Both are asked again and again.
struct RankWait {
  /// Longest time in which the rank makes no progress: no byte comes from it, and it tells of none that came to it, nor
  /// of work that it did.
  std::function<std::chrono::steady_clock::duration()> patience;
  /// Nobody needs the answer any more.
  std::function<bool()> is_over = [] { return false; };
};

class RankGroup;

/// A gadget's line to one rank. One thread at a time.
class RankChannel {
 public:
  RankChannel(RankGroup& group, int rank, std::uint32_t session) : group_(group), rank_(rank), session_(session) {}

  void send(RankMessageKind kind, std::vector<wire::PackedPiece> pieces);
  /// Throws what answer() throws while the rank's work, which began then, has not come to its end.
  void require_progress(std::chrono::steady_clock::time_point began, const RankWait& wait);
  /// The rank's next answer. Throws RankFailed for what the rank threw, where it is lost or gets no further, and where
  /// another rank has failed; BrokenOff once the wait is over.
  RankMessage answer(RankMessageKind kind, const RankWait& wait);
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
    ImageRoute images = ImageRoute::automatic;
    std::function<void(std::string_view)> warn = {};
    std::function<bool()> is_interrupted = {};         // they are waited for no longer
    std::string each = "rank";                         // what a process is called that fails: "rank", "group"
    std::chrono::milliseconds silence = rank_silence;  // of one end, after which the other takes it for lost
  };
  /// Waits for all others. Throws std::runtime_error in one line where the place to meet cannot be had, some do not
  /// come, are no ranks of this run, or have not the NCCL or MPI that is asked for, which they are told.
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
  /// Why images of GPUs do not go by NCCL, in words, and those of CPUs not by MPI; empty: they do.
  std::string why_not_nccl() const;
  std::string why_not_mpi() const;
  /// While a gadget holds it, images are its own alone: all ranks take part in each exchange, and must meet the exchanges
  /// of several gadgets in one order.
  std::unique_lock<std::mutex> take_images();
  /// Of this gadget.
  std::uint32_t new_session(const std::string& gadget);

  /// What failed first, for who uses this session: at once where it is the session's own or a rank is lost, and a second
  /// later where it is another gadget's, which is to tell it. From any thread.
  std::optional<RankFailure> failure(std::uint32_t session) const;
  /// Called at most once, from another thread, for what fails first.
  void when_failed(std::function<void(const RankFailure&)> tell);
  /// Where a process has ended, whoever saw it says how: as if it had failed.
  void note_failed(int rank, const std::string& what);
  /// Called from another thread for each line of a rank's log, with its level ("warning").
  void when_logged(std::function<void(const std::string& level, const std::string& text)> tell);
  /// The run is over; the others end with this code. Waits until they have been told so, for a second at most.
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
