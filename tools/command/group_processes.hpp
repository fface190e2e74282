// The processes of groups that this process starts itself, on this host: they run the same command and meet this
// process as those that a launcher has started do (gadgets/ranks/rank_group.hpp). They end at the latest with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "gadgets/ranks/launcher.hpp"

namespace tofstream::command {

/// Which group this process is, where another one has started it so: from its environment, which forgets it.
std::optional<JoinedPlace> take_group_place();

class GroupProcesses {
 public:
  /// Starts them. `endpoint`: where they meet the first. Throws std::system_error. From the thread that calls end(),
  /// with whose end the system ends them.
  GroupProcesses(int groups, const std::string& endpoint);
  /// As end().
  ~GroupProcesses();
  GroupProcesses(const GroupProcesses&) = delete;
  GroupProcesses& operator=(const GroupProcesses&) = delete;

  /// How one has ended, in words that begin with the group; empty: all are there.
  std::string how_one_ended();
  /// While the thread lives, one that ends is told to `groups`, at once, and not once it has been silent for long.
  std::jthread watch(RankGroup& groups);
  /// Kills those that are left.
  void end();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
