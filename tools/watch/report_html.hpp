// report.html: what a run did, for people, in one file that needs nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/report/report.hpp"

namespace tofstream {

/// Its name in the output folder.
inline constexpr const char* report_html_name = "report.html";

/// A picture for the report, or why there is none.
struct ReportPicture {
  std::string title;
  std::string png;  // its bytes; empty: none
  std::string why;  // there is none
};

/// The page of a run, made of its run.json: summary, pictures, how events came and the likelihood rose, books, timings,
/// edges, latency, parameters that were set, the resolved pipeline, versions. Every value is escaped; nothing is loaded
/// from elsewhere. Keys that an older run.json lacks are left out.
std::string report_html(const nlohmann::ordered_json& run, const std::vector<ReportPicture>& pictures);

/// The pictures that gadgets of the run have drawn; and slices and projections of each NIfTI image that a gadget
/// reports as its `file`, unless there is a picture of what the same gadget gave. What cannot be read or drawn says
/// why; nothing is thrown but std::bad_alloc.
std::vector<ReportPicture> pictures_of(const nlohmann::ordered_json& run);

/// Writes report.html into a run's folder, by rename. Throws std::system_error.
void write_report_html(const nlohmann::ordered_json& run, const std::filesystem::path& output_dir);

/// Writes it of a run that is over beside its run.json; of one that did not begin, none. What goes wrong is an
/// error of the run, unless it has one: the first cause stands.
void end_with_report_html(RunReport& report, const std::filesystem::path& output_dir);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
