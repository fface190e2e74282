// The processes that share the frames of a run, which this process collects: they run the same command, end at the
// latest with this process, and what ends one of them ends the run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/run_control.hpp"

namespace tofstream::command {

/// Which group a process is that another one has started, and where they meet.
struct GroupPlace {
  int group = 0, groups = 1;
  std::filesystem::path folder;
};

/// That of this process, from its environment, which forgets it; nothing: no other process has started it.
std::optional<GroupPlace> take_group_place();

class GroupProcesses {
 public:
  struct Settings {
    int groups = 1;
    bool uses_gpus = false;            // each has its share of the host's, as of the cores
    std::vector<std::string> gadgets;  // what these log in a group, this process logs too
  };
  /// Throws InputError for more groups than GPUs.
  explicit GroupProcesses(Settings settings);
  ~GroupProcesses();
  GroupProcesses(const GroupProcesses&) = delete;
  GroupProcesses& operator=(const GroupProcesses&) = delete;

  /// Starts them. Their folder is in that of the results, and is removed at the end. Where one of them fails or is
  /// killed, the run fails. From the thread that calls end().
  void begin(RunControl& run, const std::filesystem::path& output_dir);
  /// The run has ended: kills those that are left.
  void end();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
