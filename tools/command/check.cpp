// `tofstream check`: whether a pipeline is good, and whether it fits into memory, without running it.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "core/pipeline/memory_estimate.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/view_projector_kinds.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/group_command.hpp"
#include "tools/command/memory_check.hpp"
#include "tools/command/named_inputs.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::string pipeline;
  PipelineOptions pipeline_options;
  bool json = false;
  bool memory = false;
};

const std::string& payload_of(const Pipeline& pipeline, const PipelineEdge& edge) {
  return pipeline.gadgets[edge.from].info->outputs[edge.from_port].payload->name;
}

Json texts_of(const std::vector<Problem>& problems) {
  Json texts = Json::array();
  for (const Problem& problem : problems) texts.push_back(problem.text());
  return texts;
}

Json pipeline_json(const Pipeline& pipeline, const MissingInputs& missing) {
  Json edges = Json::array();
  for (const auto& edge : pipeline.edges)
    edges.push_back({{"edge", edge.name}, {"payload", payload_of(pipeline, edge)}, {"feedback", edge.is_feedback}});
  return {{"pipeline", pipeline.name},
          {"gadgets", pipeline.gadgets.size()},
          {"edges", edges},
          {"warnings", texts_of(pipeline.warnings)},
          {"errors", texts_of(missing.errors.all())},
          {"to_be_given", texts_of(missing.to_be_given.all())}};
}

std::string counted(std::size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

void print_pipeline(const Pipeline& pipeline, const MissingInputs& missing) {
  for (const auto& edge : pipeline.edges)
    print_printable(stdout, "{:<40} {}{}\n", edge.name, payload_of(pipeline, edge),
                    edge.is_feedback ? " (feedback)" : "");
  for (const Problem& file : missing.to_be_given.all()) fmt::print("to be given: {}\n", file.text());
  const std::size_t errors = missing.errors.all().size(), warnings = pipeline.warnings.size(),
                    files = missing.to_be_given.all().size();
  print_printable(stdout, "{}: {}, {}, {}{}{}\n", pipeline.name, counted(pipeline.gadgets.size(), "gadget"),
                  counted(pipeline.edges.size(), "edge"), errors == 0 ? "no errors" : counted(errors, "error"),
                  warnings == 0 ? "" : ", " + counted(warnings, "warning"),
                  files == 0 ? "" : ", " + counted(files, "file") + " to be given");
}

template <class Kind>
void check_projector(const PipelineGadget& gadget, Problems& errors) {
  const Kind* kind = table_of<Kind>().find(gadget.info->name);
  if (!kind || !kind->check_gadget) return;
  const auto is_there = [](const NamedInput& input) { return std::filesystem::exists(input.name); };
  if (!std::ranges::all_of(gadget.reads, is_there)) return;  // missing_inputs() says that
  try {
    kind->check_gadget(gadget.params.get());
  } catch (const std::exception& error) {
    errors.add(gadget.where, fmt::format("gadget '{}': {}", gadget.name, error.what()));
  }
}

// What parameters alone show to be wrong, in the words of the run's own projectors, without one being made.
void check_projectors(const Pipeline& pipeline, Problems& errors) {
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    check_projector<ProjectorKind>(gadget, errors);
    check_projector<ViewProjectorKind>(gadget, errors);
  }
}

void check(const CheckOptions& options) {
  const Pipeline pipeline = load(options.pipeline, options.pipeline_options);
  require_shareable(pipeline);
  MissingInputs missing = missing_inputs(pipeline);
  check_projectors(pipeline, missing.errors);
  Json json = options.json ? pipeline_json(pipeline, missing) : Json();
  if (!options.json) print_pipeline(pipeline, missing);
  MemoryVerdict verdict;
  if (options.memory) {
    const MemoryEstimate estimate = estimate_memory(pipeline);
    const MachineMemory machine = free_memory();
    verdict = compare_with_size(options.pipeline, options.pipeline_options, pipeline, machine);
    if (options.json)
      json["memory"] = memory_json(estimate, machine);
    else
      fmt::print("\n{}", printable_lines(memory_table(estimate, machine)));
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
  for (const std::string& warning : verdict.warnings) print_printable(stderr, "warning: {}\n", warning);
  for (const std::string& error : verdict.errors) print_printable(stderr, "tofstream: {}\n", error);
  for (const Problem& error : missing.errors.all()) fmt::print(stderr, "tofstream: {}\n", error.text());
  if (!verdict.errors.empty() || !missing.errors.empty()) throw ExitWith{exit_config};
}

}  // namespace

void add_check(Command& app) {
  auto& command = app.add_command("check", "Check a pipeline without running it");
  auto options = std::make_shared<CheckOptions>();
  add_pipeline_options(command, options->pipeline, options->pipeline_options);
  add_groups_option(command, options->pipeline_options);
  command.add_flag("--json", options->json, "Print JSON");
  command.add_flag("--memory", options->memory,
                   "Estimate host and GPU memory and compare with this machine's; exit 2 where it cannot fit");
  command.footer(
      "Examples: tofstream check my_pipeline.yaml\n"
      "          tofstream check listmode_osem --set image.size=[400,400,400] --memory");
  command.on_run([options] { check(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
