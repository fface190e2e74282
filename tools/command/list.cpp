// `tofstream list pipelines | scanners | phantoms`: what comes with the program, a line each.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/command/commands.hpp"
#include "tools/command/shared_lines.hpp"

namespace tofstream::command {

namespace {

struct ListOptions {
  std::string kind;
  bool json = false;
};

void print_json(const std::vector<SharedLine>& lines) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SharedLine& line : lines)
    list.push_back({{"name", line.name}, {"description", line.words}, {"file", line.file.string()}});
  fmt::print("{}\n", list.dump(2));
}

void list(const ListOptions& options) {
  const std::vector<SharedLine> lines = shared_lines(options.kind);
  if (options.json) return print_json(lines);
  std::size_t width = 0;
  for (const SharedLine& line : lines) width = std::max(width, line.name.size());
  for (const SharedLine& line : lines) fmt::print("{:<{}}  {}\n", line.name, width, line.words);
}

}  // namespace

void add_list(Command& app) {
  auto& command = app.add_command("list", "List the pipelines, scanners or phantoms that come with tofstream");
  auto options = std::make_shared<ListOptions>();
  command.add_option("kind", options->kind, "pipelines, scanners or phantoms")
      .required()
      .one_of({"pipelines", "scanners", "phantoms"});
  command.add_flag("--json", options->json, "Print JSON, with each one's file");
  command.footer(
      "Example: tofstream list pipelines\n"
      "Gadgets are listed by tofstream gadgets.");
  command.on_run([options] { list(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
