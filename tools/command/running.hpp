// Runs a pipeline for a person at a terminal: signals, progress, words at the end, the exit code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/pipeline/pipeline.hpp"
#include "core/report/run_folder.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "tools/command/command_line.hpp"
#include "tools/command/group_run.hpp"
#include "tools/watch/metrics.hpp"

namespace tofstream::command {

struct RunSettings {
  std::filesystem::path output_dir;  // empty: files go to the working folder, without run.json and report.html
  EarlierRun earlier_run = EarlierRun::refuse;
  bool json = false;             // print run.json instead of words
  bool verbose = false;          // at the end also what each gadget did: messages, events, time
  bool quiet = false;            // no progress
  bool is_step = false;          // of a command that prints what came of it itself: no words and no run.json
  std::filesystem::path trace;   // of the run, for Perfetto; empty: none
  MetricsSettings metrics;       // of the Prometheus endpoint; without an address: none
  std::string control = "none";  // path of the control socket; empty: in the output folder; "none": none
  RankGroup* ranks = nullptr;    // other processes that take part; null: none
  GroupRun* groups = nullptr;    // these share the frames; null: they do not
  bool nvtx = false;             // mark the gadgets' calls for Nsight Systems
};

/// --ranks: the top-level key `ranks` of a pipeline.
void add_ranks_option(Command& command, PipelineOptions& options);
/// --groups: the top-level key `groups`.
void add_groups_option(Command& command, PipelineOptions& options);

/// The pipeline argument, --input, --set, --backend and --ranks, which `run` and `check` have alike.
void add_pipeline_options(Command& command, std::string& pipeline, PipelineOptions& options);

/// --out, and --overwrite for a folder that holds another run.
void add_output_options(Command& command, RunSettings& settings);

/// Finds `name` (a file, or a pipeline that comes with the program) and checks it. Throws InputError with every
/// problem; what may go wrong while it runs is printed on stderr, a line each.
Pipeline load(const std::string& name, const PipelineOptions& options);
/// The same, and what may go wrong is not printed.
Pipeline load_quietly(const std::string& name, const PipelineOptions& options);

/// Runs to the end. The first SIGINT or SIGTERM stops, the second aborts. Throws ExitWith unless the run succeeded; its
/// errors have then been printed, one a line.
void run_pipeline(Pipeline pipeline, const RunSettings& settings);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
