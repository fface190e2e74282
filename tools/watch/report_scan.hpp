// What report.html says of the scan itself: the image, the scanner, the events and what became of them, corrections,
// convergence.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tools/watch/report_html.hpp"

namespace tofstream {

/// What must be read before the image is: errors, an image that is not quantitative, events that were lost or that
/// missed the image. HTML; empty where there is nothing of the kind.
std::string report_warnings(const nlohmann::ordered_json& run);

/// The sections of the scan, as HTML.
std::string report_scan(const nlohmann::ordered_json& run, const std::vector<ReportPicture>& pictures);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
