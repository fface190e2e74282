// What connects a process of a run to the first one: it says who it is, is told that all are there, and hears of the
// end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gadgets/ranks/rank_group.hpp"

namespace tofstream::command {

class LinkToFirst {
 public:
  struct Settings {
    RankIdentity own;
    std::string endpoint;
    KeyParams keys = {};
    std::chrono::milliseconds patience{30'000};  // for the first one and all others
    std::string each = "rank";                   // what this process calls itself
    bool ends_with_first = false;  // the first has started it, and the system ends it with the first: no silence does
    bool drops_work = false;       // where a run ended well, what this process is at has no use either
  };
  /// Throws std::invalid_argument or std::runtime_error in one line for an endpoint that cannot be had, or keys. From
  /// now on this process leaves interrupts to the first.
  explicit LinkToFirst(Settings settings);
  LinkToFirst(const LinkToFirst&) = delete;
  LinkToFirst& operator=(const LinkToFirst&) = delete;

  /// Says hello, and waits for all others: the number of this process on its host. Nothing where no run begins, of
  /// which the first says why, or this process where there is no first. Throws std::runtime_error where its key is
  /// refused.
  std::optional<int> join();
  /// The next message; until it is asked for, this process is at work on the one before. If the run ends meanwhile, by
  /// a failure or where `drops_work`, and where the first vanishes, so does the process, at once.
  RankMessage next();

  /// Any thread.
  void send(RankMessageKind kind, std::uint32_t session, std::vector<wire::PackedPiece> pieces);
  void note_progress();

  /// The code with which the first has ended the run.
  static int code_of(const RankMessage& end);

 private:
  void say(const std::string& what) const;
  void take(RankMessage message);
  void lose();
  std::optional<RankMessage> next_within(std::optional<std::chrono::milliseconds> longest);

  const Settings settings_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<RankMessage> messages_;
  bool is_busy_ = false;  // with a message that was taken
  RankSocket socket_;     // the last: its thread uses the others
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
