// The other processes of a run whose frames are shared: they run the same command, end at the latest with this process,
// and what ends one of them ends the run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

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
  /// This process is the first of so many groups. It keeps to its share of the host's cores and GPUs (`uses_gpus`) from
  /// now on, so this comes before there are threads that compute, and before CUDA is used. Throws InputError for more
  /// groups than GPUs.
  GroupProcesses(int groups, bool uses_gpus);
  ~GroupProcesses();
  GroupProcesses(const GroupProcesses&) = delete;
  GroupProcesses& operator=(const GroupProcesses&) = delete;

  /// Starts the others, whose folder is in that of the results; it is removed at the end. Where one of them fails or is
  /// killed, the run fails. From the thread that makes the end().
  void begin(RunControl& run, const std::filesystem::path& output_dir);
  /// The run has ended: kills those that are left.
  void end();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
