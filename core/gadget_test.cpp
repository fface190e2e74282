#include "core/gadget_test.hpp"

#include <fmt/format.h>

#include "core/document.hpp"

namespace tofstream {
namespace {

std::shared_ptr<void> params_from(const GadgetInfo& info, std::string_view yaml) {
  Problems problems;
  const Value given = parse_document(yaml, "test", problems);
  std::shared_ptr<void> params = info.default_params();
  if (problems.empty()) read_params(info.params, params.get(), given, info.name, problems);
  std::vector<std::string> lines;
  for (const Problem& problem : problems.all()) lines.push_back(problem.text());
  if (!lines.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(lines, "\n")));
  return params;
}

}  // namespace

namespace detail {

GadgetHarness::GadgetHarness(GadgetInfo info, std::string_view yaml, EmitTarget& target, Context& context)
    : info_(std::move(info)),
      target_(target),
      context_(context),
      gadget_(info_.construct(params_from(info_, yaml), context)) {}

void GadgetHarness::process(std::vector<Payload> inputs, const std::vector<const PayloadType*>& types) {
  if (types.size() != info_.inputs.size())
    throw std::invalid_argument(fmt::format("{} takes {} inputs, and the test sends {}: send one payload for each",
                                            info_.name, info_.inputs.size(), types.size()));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!types[i]->same_as(*info_.inputs[i].payload))
      throw std::invalid_argument(fmt::format("input '{}' of {} takes {}, and the test sends {}", info_.inputs[i].name,
                                              info_.name, info_.inputs[i].payload->name, types[i]->name));
  gadget_->process(inputs, target_, context_);
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
