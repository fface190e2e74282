// What a request through the control socket does to a run: see control_message.hpp.
#include <cmath>

#include "core/gadget/value_json.hpp"
#include "core/report/report_json.hpp"
#include "tools/watch/control_message.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

Json parameter_json(const LiveParameter& parameter) {
  const ParamInfo& info = *parameter.info;
  Json json{{"gadget", parameter.gadget}, {"parameter", info.name},  {"value", to_json(parameter.value)},
            {"type", info.type},          {"unit", info.rules.unit}, {"doc", info.rules.doc}};
  if (std::isfinite(info.rules.limits.lo)) json["lowest"] = info.rules.limits.lo;
  if (info.rules.limits.open_lo) json["above_lowest"] = true;
  if (std::isfinite(info.rules.limits.hi)) json["highest"] = info.rules.limits.hi;
  if (!info.choices.empty()) json["choices"] = info.choices;
  return json;
}

Json parameters_json(const RunControl& run) {
  Json list = Json::array();
  for (const LiveParameter& parameter : run.live_parameters()) list.push_back(parameter_json(parameter));
  return list;
}

Json errors_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& problem : problems) list.push_back(problem.message);
  return list;
}

}  // namespace

Json answer_control_request(RunControl& run, const ControlRequest& request) {
  Json answer{{"version", control_version}, {"ok", true}};
  switch (request.action) {
    case ControlAction::status:
      answer["status"] = status_json(run.snapshot());
      break;
    case ControlAction::parameters:
      answer["parameters"] = parameters_json(run);
      break;
    case ControlAction::set:
      if (const auto problems = run.set_parameter(request.gadget, request.parameter, request.value);
          !problems.empty()) {
        answer["ok"] = false;
        answer["errors"] = errors_json(problems);
      }
      break;
    case ControlAction::stop:
      run.request_stop();
      break;
    case ControlAction::abort:
      run.abort();
      break;
  }
  return answer;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
