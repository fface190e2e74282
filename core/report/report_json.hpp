// The figures of a running run as JSON: what the control socket answers.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "core/report/report.hpp"

namespace tofstream {

// As in run.json, with the progress of each gadget, and without what does not change.
nlohmann::ordered_json status_json(const RunReport& report);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
