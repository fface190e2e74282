// See named_inputs.hpp.
#include "tools/command/named_inputs.hpp"

#include <exception>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"

namespace tofstream::command {

namespace {

bool is_source(const PipelineGadget& gadget) {
  return gadget.info->inputs.empty();
}

// How another file is given from the command line.
std::string another(const PipelineGadget& gadget, const NamedInput& input) {
  const std::string parameter = input.parameter.starts_with("gadgets.") ? input.parameter.substr(8) : input.parameter;
  return is_source(gadget) && parameter.ends_with(".path") ? "--input FILE names another"
                                                           : fmt::format("--set {}=FILE names another", parameter);
}

// Reads what a name means, as the gadget will.
void read_shared(const std::string& kind, const std::string& name) {
  const auto file = find_shared(kind, name);
  if (kind == "scanners") formats::check_scanner(file);
  if (kind == "phantoms") formats::read_phantom(file);
}

void look_at(const PipelineGadget& gadget, const NamedInput& input, MissingInputs& missing) {
  const bool is_file = input.kind.empty();
  const bool is_to_be_given = is_file && input.where.line > 0;  // what the command line names is meant now
  if (is_file && input.name == "-") return;                     // standard input
  try {
    if (is_file)
      require_readable(input.name, is_to_be_given ? another(gadget, input) : "");
    else
      read_shared(input.kind, input.name);
  } catch (const std::exception& error) {
    (is_to_be_given ? missing.to_be_given : missing.errors)
        .add(input.where, fmt::format("{}: {}", input.parameter, error.what()));
  }
}

}  // namespace

MissingInputs missing_inputs(const Pipeline& pipeline) {
  MissingInputs missing;
  std::set<std::pair<std::string, std::string>> looked_at;  // what several gadgets read is told once
  for (const PipelineGadget& gadget : pipeline.gadgets)
    for (const NamedInput& input : gadget.reads)
      if (input.kind.empty() || looked_at.emplace(input.kind, input.name).second) look_at(gadget, input, missing);
  return missing;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
