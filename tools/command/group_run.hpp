// A run whose frames, or gates, other processes share, as the first one sees it: it gives each group its part, passes
// on what they say, and collects what they make.
#pragma once

#include <filesystem>
#include <memory>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "tools/command/group_processes.hpp"

namespace tofstream::command {

class GroupRun {
 public:
  /// `groups`: rank 1 and up. `started`: their processes, where this one has started them; outlives this, as `groups`
  /// does. Throws InputError for more groups than GPUs.
  GroupRun(const Pipeline& pipeline, RankGroup& groups, GroupProcesses* started);
  ~GroupRun();
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;

  /// They begin. Their folder is in that of the results, which is there. Throws std::runtime_error, which begins with
  /// the group, where one does not see that folder, or fails before.
  void begin(const std::filesystem::path& output_dir);
  /// The run has ended, and they have been told so: their folder goes, and those that this process has started.
  void end();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
