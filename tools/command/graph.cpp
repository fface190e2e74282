// `tofstream graph`: a pipeline as a figure. SVG is laid out by Graphviz's own program.
#include <map>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/describe/graph_text.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/deliver.hpp"
#include "tools/command/graphviz.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

struct GraphOptions {
  std::string pipeline;
  PipelineOptions pipeline_options;
  std::string format;
  std::filesystem::path file;
};

std::string format_of(const GraphOptions& options) {
  if (!options.format.empty()) return options.format;
  static const std::map<std::string, std::string> by_ending{
      {".svg", "svg"}, {".dot", "dot"}, {".gv", "dot"}, {".json", "json"}};
  const auto known = by_ending.find(options.file.extension().string());
  return known == by_ending.end() ? "mermaid" : known->second;
}

void graph(const GraphOptions& options) {
  const Pipeline pipeline = load(options.pipeline, options.pipeline_options);
  const std::string format = format_of(options);
  std::string text;
  if (format == "mermaid") text = mermaid_text(pipeline);
  if (format == "dot") text = dot_text(pipeline);
  if (format == "json") text = graph_json(pipeline).dump(2) + "\n";
  if (format == "svg") text = graphviz_svg(dot_text(pipeline));
  deliver(text, options.file);
}

}  // namespace

void add_graph(Command& app) {
  auto& command = app.add_command("graph", "Draw a pipeline: gadgets, edges and what flows along them");
  auto options = std::make_shared<GraphOptions>();
  add_pipeline_options(command, options->pipeline, options->pipeline_options);
  command.add_option("--format", options->format, "mermaid (default), dot, svg or json; else by the file's ending")
      .one_of({"mermaid", "dot", "svg", "json"});
  command.add_option("-o,--out", options->file, "File to write (default: standard output)");
  command.footer(
      "Examples: tofstream graph listmode_osem -o listmode_osem.svg\n"
      "          tofstream graph my_pipeline.yaml          (Mermaid, for a Markdown page)\n"
      "Feedback is dashed, nested pipelines are framed; an edge's bounds are written where they are not the default.");
  command.on_run([options] { graph(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
