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

/// Events received per second over the run (from `counts`), and each gadget's log-likelihood over its updates; what has
/// too few points is left out.
std::vector<ReportCurve> report_curves(const nlohmann::ordered_json& run);

}  // namespace tofstream
