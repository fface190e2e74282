// The figures of a run that goes on, as JSON: what the control socket answers.
#pragma once
#include <nlohmann/json.hpp>

#include "core/report/report.hpp"

namespace tofstream {

// As run.json has them, with how far each gadget is; without what does not change.
nlohmann::ordered_json status_json(const RunReport& report);

}  // namespace tofstream
