// `tofstream run`: a pipeline file becomes a run.
#include <memory>
#include <string>
#include <utility>

#include "gadgets/ranks/frame_groups.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/group_processes.hpp"
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

bool may_use_gpus(const Pipeline& pipeline) {
  for (const PipelineGadget& gadget : pipeline.gadgets)
    if (const Value* backend = gadget.resolved.find("backend"); backend && backend->text != "cpu") return true;
  return false;
}

// This process collects what the groups make, which it starts.
void run_in_groups(Pipeline pipeline, RunSettings settings) {
  require_shareable(pipeline);
  if (settings.ranks)
    throw InputError(
        "groups: they are processes of this host, which this command starts itself, and a launcher has started several "
        "ranks: leave mpirun, srun and --rank out (each group takes --ranks), or leave groups out");
  GroupProcesses groups({groups_of(pipeline), may_use_gpus(pipeline), gadgets_of_groups(pipeline)});
  settings.groups = &groups;
  run_pipeline(std::move(pipeline), settings);
}

// A group: it has no results of its own, and what it says goes to its log.
void run_as_group(const GroupPlace& place, Pipeline pipeline) {
  const FrameGroups own(place.folder, place.group, place.groups);
  const FrameGroupsInUse in_use(own);
  RunSettings settings;
  settings.output_dir = place.folder / std::to_string(place.group);
  settings.quiet = settings.is_step = true;
  settings.takes_signals = false;
  run_pipeline(part_of_group(std::move(pipeline), place.group), settings);
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
    if (const auto place = take_group_place())
      return run_as_group(*place, load_quietly(options->pipeline, options->pipeline_options));
    run_on_ranks(
        options->ranks,
        [&](bool is_first) {
          return is_first ? load(options->pipeline, options->pipeline_options)
                          : load_quietly(options->pipeline, options->pipeline_options);
        },
        [&](Pipeline pipeline, RankGroup* ranks) {
          options->settings.ranks = ranks;
          if (groups_of(pipeline) > 1) return run_in_groups(std::move(pipeline), options->settings);
          run_pipeline(std::move(pipeline), options->settings);
        });
  });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
