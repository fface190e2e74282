// A command of which several processes make one run: options, and which part of it is this process's.
#pragma once

#include <functional>
#include <string>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/ranks/launcher.hpp"
#include "tools/command/command_line.hpp"
#include "tools/command/group_processes.hpp"

namespace tofstream::command {

struct RankOptions {
  JoinOptions join;
  double timeout_s = 30;
  std::string images = "auto";
};

/// --join, --rank, --join-timeout, --rank-images and the keys.
void add_rank_options(Command& command, RankOptions& options);

/// The other processes of a run, as its first one has them.
struct OtherProcesses {
  RankGroup* ranks = nullptr;         // null: there are none
  GroupProcesses* started = nullptr;  // where this process has started them itself
};

/// Runs the pipeline that `load` gives (and of which it prints warnings for the first alone): alone, as the first of
/// several processes once they are all there, or as another, which never calls `run` and ends with the first one's exit
/// code. Groups that nobody has started are started here. Throws InputError and ExitWith.
void run_on_ranks(const RankOptions& options, const std::function<Pipeline(bool is_first)>& load,
                  const std::function<void(Pipeline, const OtherProcesses&)>& run);

/// By which libraries images may go between ranks, as this machine has them, or why it has none: a line.
std::string collectives_in_words();

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
