// `tofstream run` and `tofstream check`: a pipeline file becomes a run, or is only checked.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command/commands.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

struct Options {
  std::string pipeline;
  PipelineOptions pipeline_options;
  RunSettings settings;
};

void add_pipeline_options(CLI::App& command, const std::shared_ptr<Options>& options) {
  command.add_option("pipeline", options->pipeline, "A pipeline file, or the name of one that comes with tofstream")
      ->required();
  command.add_option("--input", options->pipeline_options.input, "The path of the pipeline's one source");
  command
      .add_option("--set", options->pipeline_options.sets,
                  "Override a parameter: gadget.parameter=value or key.part=value")
      ->allow_extra_args(false);
  command.add_option("--backend", options->pipeline_options.backend, "cpu, cuda or auto");
  command.add_flag("--json", options->settings.json, "Print JSON");
}

void check(const Options& options) {
  const Pipeline pipeline = load(options.pipeline, options.pipeline_options);
  if (options.settings.json) {
    nlohmann::ordered_json edges = nlohmann::ordered_json::array();
    for (const auto& edge : pipeline.edges)
      edges.push_back({{"edge", edge.name},
                       {"payload", pipeline.gadgets[edge.from].info->outputs[edge.from_port].payload->name},
                       {"feedback", edge.is_feedback}});
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{{"pipeline", pipeline.name}, {"gadgets", pipeline.gadgets.size()}, {"edges", edges}}
            .dump(2));
    return;
  }
  for (const auto& edge : pipeline.edges)
    fmt::print("{:<40} {}{}\n", edge.name, pipeline.gadgets[edge.from].info->outputs[edge.from_port].payload->name,
               edge.is_feedback ? " (feedback)" : "");
  fmt::print("{}: {} gadgets, {} edges, no errors\n", pipeline.name, pipeline.gadgets.size(), pipeline.edges.size());
}

}  // namespace

void add_run(CLI::App& app) {
  auto* command = app.add_subcommand("run", "Run a pipeline");
  auto options = std::make_shared<Options>();
  add_pipeline_options(*command, options);
  command->add_option("-o,--out", options->settings.output_dir, "Folder of the results (default: results)")
      ->default_str("results");
  options->settings.output_dir = "results";
  command->add_flag("--quiet", options->settings.quiet, "No progress");
  command->add_option("--trace", options->settings.trace, "Write what ran when, for ui.perfetto.dev");
  command->add_option("--metrics", options->settings.metrics, "Serve figures to Prometheus at host:port");
  command->add_flag("--nvtx", options->settings.nvtx, "Mark the gadgets' calls for Nsight Systems");
  command->footer(
      "Example: tofstream run listmode_osem --input scan.petsird --set image.size=[60,60,40] --set "
      "image.voxel_mm=[2,2,2] --out results\n"
      "Exit codes: 0 done (also when stopped by the first interrupt), 1 failed while running, 2 wrong input, 130 "
      "aborted.");
  command->callback([options] { run_pipeline(load(options->pipeline, options->pipeline_options), options->settings); });
}

void add_check(CLI::App& app) {
  auto* command = app.add_subcommand("check", "Check a pipeline without running it");
  auto options = std::make_shared<Options>();
  add_pipeline_options(*command, options);
  command->footer("Example: tofstream check my_pipeline.yaml");
  command->callback([options] { check(*options); });
}

}  // namespace tofstream::command
