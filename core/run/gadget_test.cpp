#include "core/run/gadget_test.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/pipeline/live_params.hpp"
#include "core/value/document.hpp"

namespace tofstream {
namespace {

void throw_if_any(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.all()) lines.push_back(problem.text());
  if (!lines.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
}

std::shared_ptr<const void> params_from(const GadgetInfo& info, std::string_view yaml) {
  Problems problems;
  const Value given = parse_document(yaml, "test", problems);
  const std::shared_ptr<void> params = info.default_params();
  if (problems.empty()) read_params(info.params, params.get(), {given, info.name, problems});
  throw_if_any(problems);
  return params;
}

std::vector<std::string> port_names(const GadgetInfo& info) {
  std::vector<std::string> names;
  for (const std::vector<PortInfo>* ports : {&info.inputs, &info.outputs})
    for (const PortInfo& port : *ports) names.push_back(port.name);
  return names;
}

// A test reads what it collects as these types, unchecked.
void require_outputs(const GadgetInfo& info, const std::vector<const PayloadType*>& expected) {
  const auto same = [](const PortInfo& port, const PayloadType* type) { return port.payload->same_as(*type); };
  if (std::ranges::equal(info.outputs, expected, same)) return;
  std::vector<std::string> gives, takes;
  for (const PortInfo& port : info.outputs) gives.push_back(port.payload->name);
  for (const PayloadType* type : expected) takes.push_back(type->name);
  const auto words = [](const std::vector<std::string>& names) {
    return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
  };
  throw std::invalid_argument(
      fmt::format("{} gives {}, and the test expects {}", info.name, words(gives), words(takes)));
}

}  // namespace

namespace detail {

GadgetHarness::GadgetHarness(GadgetInfo info, std::string_view yaml, const std::vector<const PayloadType*>& expected,
                             EmitTarget& target, TestContext& context, const std::vector<std::string>& unconnected)
    : info_(std::move(info)), params_used_{params_from(info_, yaml)}, target_(target), context_(context) {
  resolved_ = write_params(info_.params, params());
  if (info_.specialise) info_ = info_.specialise(params());
  require_outputs(info_, expected);
  context.set_ports(port_names(info_));
  for (const std::string& port : unconnected) context.disconnect(port);
  gadget_ = info_.construct(params_used_.back(), context_);
}

void GadgetHarness::process(std::vector<Payload> inputs, const std::vector<const PayloadType*>& types) {
  if (types.size() != info_.inputs.size())
    throw std::invalid_argument(fmt::format("{} takes {} inputs, and the test sends {}: send one payload for each",
                                            info_.name, info_.inputs.size(), types.size()));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!types[i]->same_as(*info_.inputs[i].payload))
      throw std::invalid_argument(fmt::format("input '{}' of {} takes {}, and the test sends {}", info_.inputs[i].name,
                                              info_.name, info_.inputs[i].payload->name, types[i]->name));
  gadget_->process(inputs, target_, context_, params());
}

void GadgetHarness::set(std::string_view parameter, std::string_view yaml) {
  Problems problems;
  const Value value = parse_document(yaml, "test", problems);
  PipelineGadget gadget;
  gadget.name = info_.name;
  gadget.info = &info_;
  gadget.params = params_used_.back();
  Value wanted = resolved_;
  std::shared_ptr<const void> changed;
  if (problems.empty()) changed = changed_params(gadget, parameter, value, wanted, problems);
  throw_if_any(problems);
  params_used_.push_back(std::move(changed));
  resolved_ = std::move(wanted);
  gadget_->update(params());
}

GadgetInfo registered_gadget(std::string_view name) {
  const GadgetInfo* info = registry().find(name);
  if (!info)
    throw std::invalid_argument(
        fmt::format("no gadget is called '{}'{}", name, did_you_mean(name, registry().names())));
  return *info;
}

}  // namespace detail
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
