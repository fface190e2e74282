// The curves of report.html.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tofstream {

struct ReportCurve {
  std::string title;
  std::string svg;
};

/// Events received per second over the run (from `counts`), of a run whose events came from a stream; what has too few
/// points is left out.
std::vector<ReportCurve> count_curves(const nlohmann::ordered_json& run);
/// Each gadget's log-likelihood over its updates; what has too few points is left out.
std::vector<ReportCurve> likelihood_curves(const nlohmann::ordered_json& run);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
