// `tofstream run`: a pipeline file becomes a run.
#include <memory>
#include <string>
#include <utility>

#include "tools/command/commands.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/group_run.hpp"
#include "tools/command/memory_check.hpp"
#include "tools/command/metrics_options.hpp"
#include "tools/command/rank_command.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

struct RunOptions {
  std::string pipeline;
  PipelineOptions pipeline_options;
  RunSettings settings;
  RankOptions ranks;
};

// This process collects what groups make.
void run_in_groups(Pipeline pipeline, const OtherProcesses& others, RunSettings settings) {
  GroupRun groups(pipeline, *others.ranks, others.started);
  settings.groups = &groups;
  run_pipeline(std::move(pipeline), settings);
}

}  // namespace

void add_run(Command& app) {
  auto& command = app.add_command("run", "Run a pipeline");
  auto options = std::make_shared<RunOptions>();
  add_pipeline_options(command, options->pipeline, options->pipeline_options);
  add_groups_option(command, options->pipeline_options);
  command.add_flag("--json", options->settings.json, "Print JSON");
  add_output_options(command, options->settings);
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.add_flag("--verbose", options->settings.verbose,
                   "At the end, also print what each gadget did: messages, events, time");
  command.add_option("--trace", options->settings.trace, "Write what ran when, for ui.perfetto.dev");
  add_metrics_options(command, options->settings.metrics);
  options->settings.control.clear();
  command.add_option(
      "--control", options->settings.control,
      "The control socket, for tofstream control and top, or 'none' (default: control.sock in the folder "
      "of the results)");
  command.add_flag("--nvtx", options->settings.nvtx, "Mark the gadgets' calls for Nsight Systems");
  command.footer(
      "Example: tofstream run listmode_osem --input scan.petsird --set image.size=[60,60,40] --set "
      "image.voxel_mm=[2,2,2] --out results\n"
      "Exit codes: 0 done (also when stopped by the first interrupt), 1 failed while running, 2 wrong input, 130 "
      "aborted.");
  add_rank_options(command, options->ranks);
  command.on_run([options] {
    run_on_ranks(
        options->ranks,
        [&](bool is_first) {
          return is_first ? load(options->pipeline, options->pipeline_options)
                          : load_quietly(options->pipeline, options->pipeline_options);
        },
        [&](Pipeline pipeline, const OtherProcesses& others) {
          options->settings.ranks = others.ranks;
          if (groups_of(pipeline) > 1) return run_in_groups(std::move(pipeline), others, options->settings);
          require_memory(options->pipeline, options->pipeline_options, pipeline);
          run_pipeline(std::move(pipeline), options->settings);
        });
  });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
