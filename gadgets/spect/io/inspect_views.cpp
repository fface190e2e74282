// What `tofstream inspect` says of projection data: which camera, from where it looked, how long and what it counted.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.hpp"
#include "gadgets/io/file_inspectors.hpp"
#include "gadgets/spect/io/view_reader.hpp"

namespace tofstream {
namespace {

using nlohmann::ordered_json;

constexpr double radius_of_silent_files_mm = 1;  // no camera has it

/// How one head turned.
struct HeadArc {
  int head = 0;
  float first_deg = 0;
  double step_deg = 0;  // mean, positive counter-clockwise as seen from the feet
  bool is_even = true;
  int views = 0;
};

// From one angle to the next on the shorter way.
double step_between(float from_deg, float to_deg) {
  return std::remainder(static_cast<double>(to_deg) - static_cast<double>(from_deg), 360.0);
}

HeadArc arc_of(int head, const std::vector<float>& angles_deg) {
  constexpr double slack_deg = 0.02;
  HeadArc arc{.head = head, .first_deg = angles_deg.front(), .views = static_cast<int>(angles_deg.size())};
  std::vector<double> steps;
  steps.reserve(angles_deg.size());
  for (std::size_t v = 1; v < angles_deg.size(); ++v) steps.push_back(step_between(angles_deg[v - 1], angles_deg[v]));
  if (steps.empty()) return arc;
  for (const double step : steps) arc.step_deg += step / static_cast<double>(steps.size());
  arc.is_even = std::ranges::all_of(steps, [&](double step) { return std::abs(step - arc.step_deg) < slack_deg; });
  return arc;
}

std::vector<HeadArc> arcs_of(const ViewSet& set) {
  std::map<int, std::vector<float>> angles;
  for (const ViewPlace& place : set.places) angles[place.head].push_back(place.angle_deg);
  std::vector<HeadArc> arcs;
  for (const auto& [head, of_head] : angles) arcs.push_back(arc_of(head, of_head));
  return arcs;
}

const char* way_of(double step_deg) {
  return step_deg > 0 ? "counter-clockwise" : step_deg < 0 ? "clockwise" : "not turning";
}

ordered_json arc_json(const HeadArc& arc) {
  return {{"head", arc.head + 1},
          {"views", arc.views},
          {"first_deg", arc.first_deg},
          {"step_deg", std::abs(arc.step_deg)},
          {"even_steps", arc.is_even},
          {"arc_deg", std::abs(arc.step_deg) * arc.views},
          {"direction", way_of(arc.step_deg)}};
}

template <class Of>
ordered_json range_of_places(const ViewSet& set, Of of) {
  const auto [least, most] = std::ranges::minmax(set.places, {}, of);
  return {of(least), of(most)};
}

ordered_json inspect_views(const std::filesystem::path& file) {
  const auto reader = formats::open_views(
      file, {.unsaid_radius_mm = radius_of_silent_files_mm, .negative = formats::NegativeCounts::zero});
  const ViewSet& set = *reader->set();
  std::map<int, double> counts_of_window;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  while (const auto view = reader->next()) {
    double counts = 0;
    for (const float pixel : view->counts.span()) counts += static_cast<double>(pixel);
    counts_of_window[view->window] += counts;
    if (view->window != 0) continue;
    least = std::min(least, counts);
    most = std::max(most, counts);
  }
  ordered_json held{{"format", reader->format()},           {"camera", set.name},
                    {"collimator", set.collimator},         {"views", set.places.size()},
                    {"pixels", {set.size[0], set.size[1]}}, {"pixel_mm", {set.pixel_mm.x, set.pixel_mm.y}},
                    {"heads", ordered_json::array()}};
  for (const HeadArc& arc : arcs_of(set)) held["heads"].push_back(arc_json(arc));
  const auto radius = [](const ViewPlace& place) { return place.radius_mm; };
  if (std::ranges::any_of(set.places,
                          [&](const ViewPlace& place) { return radius(place) != radius_of_silent_files_mm; }))
    held["radius_mm"] = range_of_places(set, radius);
  const auto duration = [](const ViewPlace& place) { return place.duration_s; };
  if (std::ranges::any_of(set.places, [&](const ViewPlace& place) { return duration(place) > 0; }))
    held["duration_s"] = range_of_places(set, duration);
  held["counts"] = counts_of_window[0];
  held["counts_of_a_view"] = {least, most};
  held["energy_windows"] = ordered_json::array();
  for (std::size_t w = 0; w < set.windows.size(); ++w)
    held["energy_windows"].push_back({{"low_keV", set.windows[w].low_keV},
                                      {"high_keV", set.windows[w].high_keV},
                                      {"counts", counts_of_window[static_cast<int>(w)]}});
  if (reader->clipped() > 0) held["negative_counts"] = reader->clipped();
  held["notes"] = reader->notes();
  return held;
}

std::string spread_in_words(const ordered_json& range, const char* unit) {
  const double least = range.at(0).get<double>(), most = range.at(1).get<double>();
  return least == most ? fmt::format("{:g} {}", least, unit) : fmt::format("{:g} to {:g} {}", least, most, unit);
}

std::string arc_in_words(const ordered_json& head) {
  const auto degrees = [&](const char* key) { return head.at(key).get<double>(); };
  return fmt::format("{} views over {:g} degrees {} in {} of {:.4g}, the first at {:g}", head.at("views").get<int>(),
                     degrees("arc_deg"), head.at("direction").get<std::string>(),
                     head.at("even_steps").get<bool>() ? "steps" : "uneven steps", degrees("step_deg"),
                     degrees("first_deg"));
}

std::string views_in_words(const ordered_json& held) {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& what) {
    if (!what.empty()) text += fmt::format("{:<15} {}\n", name, printable(what));
  };
  const auto all = [&](const char* key) { return held.at(key).get<std::vector<double>>(); };
  line("format", held.at("format").get<std::string>());
  line("camera", held.at("camera").get<std::string>());
  line("collimator", held.at("collimator").get<std::string>());
  line("views", fmt::format("{} of {:g} pixels of {:g} mm", held.at("views").get<int>(),
                            fmt::join(all("pixels"), " x "), fmt::join(all("pixel_mm"), " x ")));
  for (const ordered_json& head : held.at("heads")) {
    const int number = head.at("head").get<int>();
    line(held.at("heads").size() == 1 ? "orbit" : fmt::format("head {}", number), arc_in_words(head));
  }
  line("angles", "0 looks from the patient's back, 90 from the left; turns as seen from the feet");
  line("radius", held.contains("radius_mm")
                     ? spread_in_words(held.at("radius_mm"), "mm from the axis to the collimator's face")
                     : "the file does not say it: give projections_source radius_mm");
  line("time", held.contains("duration_s") ? spread_in_words(held.at("duration_s"), "s a view")
                                           : "the file does not say it: views count alike, and images are relative");
  line("counts", fmt::format("{:.10g}, {} a view", held.at("counts").get<double>(),
                             spread_in_words(held.at("counts_of_a_view"), "in")));
  for (const ordered_json& window : held.at("energy_windows"))
    if (window.at("high_keV").get<double>() > 0)
      line("energy window", fmt::format("{:g} to {:g} keV, {:.10g} counts", window.at("low_keV").get<double>(),
                                        window.at("high_keV").get<double>(), window.at("counts").get<double>()));
  if (held.contains("negative_counts"))
    line("negative", fmt::format("{:g} counts in all, here taken as 0: give projections_source negative: zero",
                                 held.at("negative_counts").get<double>()));
  for (const ordered_json& note : held.at("notes")) line("note", note.get<std::string>());
  return text;
}

TOFSTREAM_INSPECTS("projections", .words = "projection data of a gamma camera (Interfile, DICOM NM, NIfTI with YAML)",
                   .knows = formats::are_views, .read = inspect_views, .in_words = views_in_words);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
