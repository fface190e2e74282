#include "core/describe/describe_markdown.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/describe/describe_text.hpp"
#include "core/gadget/runtime_keys.hpp"
#include "core/pipeline/pipeline.hpp"

namespace tofstream {
namespace {

std::string limits_text(const ParamInfo& param) {
  if (!param.choices.empty()) return fmt::format("{}", fmt::join(param.choices, ", "));
  const Limits& limits = param.rules.limits;
  if (!limits.any()) return "";
  if (std::isinf(limits.hi)) return fmt::format("{} {}", limits.open_lo ? "more than" : "at least", limits.lo);
  if (std::isinf(limits.lo)) return fmt::format("at most {}", limits.hi);
  return fmt::format("{}{}, {}]", limits.open_lo ? "(" : "[", limits.lo, limits.hi);
}

std::string default_text(const ParamInfo& param) {
  if (param.rules.is_required) return "required";
  const std::string text = flow_text(param.default_value);
  return text == "\"\"" ? "none" : text;
}

// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// A parameter's row, and those of a nested struct's fields by dotted names.
std::string rows(const std::vector<ParamInfo>& params, const std::string& prefix) {
  std::string text;
  for (const ParamInfo& param : params) {
    if (!param.fields.empty()) {
      text += rows(param.fields, prefix + param.name + ".");
      continue;
    }
    text += fmt::format("| `{}{}` | {} | {} | {} | {} | {}{} |\n", prefix, param.name, param.type, default_text(param),
                        param.rules.unit, cell(limits_text(param)), cell(param.rules.doc),
                        param.rules.is_live ? "; live" : "");
  }
  return text;
}

std::string table(const std::vector<ParamInfo>& params) {
  return fmt::format("| parameter | type | default | unit | limits | meaning |\n|---|---|---|---|---|---|\n{}\n",
                     rows(params, ""));
}

std::string runtime_text() {
  std::string text =
      "## Keys of every gadget\n\nThese belong to the runtime ([pipelines](../pipelines.md) shows them at work); every "
      "other key is a parameter.\n\n| key | values | default | meaning |\n|---|---|---|---|\n";
  for (const RuntimeKey& key : runtime_keys)
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.values, key.usual, key.doc);
  text += fmt::format("\n`edge`, for all inputs or under an input's name:\n\n{}`fault`:\n\n{}",
                      table(detail::infos_of<EdgeSettings>()), table(detail::infos_of<FaultSettings>()));
  return text;
}

std::string takes_or_gives(const std::vector<PortInfo>& ports, const GadgetInfo& gadget) {
  return ports.empty() && !gadget.specialise ? "nothing" : ports_in_words(ports, gadget);
}

std::string gadget_markdown(const GadgetInfo& gadget, bool has_example) {
  std::string text = fmt::format("## {}\n\n{}.\n\nKind: {}{}. Takes: {}. Gives: {}.\n\n", gadget.name, gadget.doc,
                                 kind_name(gadget.kind), gadget.own_thread ? ", on a thread of its own" : "",
                                 takes_or_gives(gadget.inputs, gadget), takes_or_gives(gadget.outputs, gadget));
  if (has_example) text += fmt::format("Example: [{0}.yaml](../../examples/gadgets/{0}.yaml).\n\n", gadget.name);
  if (!gadget.params.empty()) text += table(gadget.params);
  return text;
}

}  // namespace

std::string reference_markdown(std::span<const GadgetInfo* const> gadgets, std::span<const std::string> with_example) {
  std::string text = fmt::format(
      "# Gadgets\n\nWritten by `tofstream gadgets --markdown` from the gadgets' own declarations. A parameter that is "
      "live may change while the gadget runs.\n\n{}",
      runtime_text());
  for (const GadgetInfo* gadget : gadgets)
    text += gadget_markdown(*gadget, std::ranges::find(with_example, gadget->name) != with_example.end());
  text.pop_back();  // the last of two ends of line
  return text;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
