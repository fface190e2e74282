// See report_curves.hpp.
#include "tools/watch/report_curves.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gadgets/io/picture/plot.hpp"

namespace tofstream {

namespace {

using Json = nlohmann::ordered_json;

constexpr int width_px = 900, height_px = 380;

std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  for (const Json& item : list)
    if (item.is_number()) values.push_back(item.get<double>());
  return values;
}

// Events came from a stream: those of a file come as fast as it is read, which says nothing of the scan.
bool is_live(const Json& run) {
  const auto gadgets = run.find("gadgets");
  if (gadgets == run.end()) return false;
  return std::ranges::any_of(*gadgets, [](const Json& gadget) {
    const auto figures = gadget.find("figures");
    return figures != gadget.end() && figures->contains("stream") && gadget.value("messages_in", 0) == 0;
  });
}

// Each stretch between two counts at its mean rate, as steps.
void add_count_rate(const Json& run, std::vector<ReportCurve>& curves) {
  const auto counts = run.find("counts");
  if (counts == run.end()) return;
  const std::vector<double> seconds = numbers(counts->at("seconds")), events = numbers(counts->at("events"));
  if (seconds.size() != events.size() || seconds.size() < 3) return;
  PlotSeries rate{.label = "", .markers = false};
  double highest = 0;
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    const double took = seconds[i] - seconds[i - 1];
    if (!(took > 0)) continue;
    const double here = (events[i] - events[i - 1]) / took;
    highest = std::max(highest, here);
    for (const double end : {seconds[i - 1], seconds[i]}) {
      rate.x.push_back(end);
      rate.y.push_back(here);
    }
  }
  if (rate.x.empty() || highest <= 0) return;
  const std::string title = "Events received per second";
  curves.push_back({title, plot_svg({rate}, {.x_label = "time since the run began (s)",
                                             .y_label = "events/s",
                                             .y_range = PlotRange{0, 1.05 * highest},
                                             .width_px = width_px,
                                             .height_px = height_px})});
}

void add_likelihood(const std::string& gadget, const Json& figures, std::vector<ReportCurve>& curves) {
  const auto found = figures.find("log_likelihood");
  if (found == figures.end() || !found->is_array()) return;
  PlotSeries likelihood{.label = "", .markers = found->size() < 60};
  for (std::size_t i = 0; i < found->size(); ++i) {
    if (!(*found)[i].is_number()) continue;
    likelihood.x.push_back(static_cast<double>(i + 1));
    likelihood.y.push_back((*found)[i].get<double>());
  }
  if (likelihood.x.size() < 2) return;
  curves.push_back(
      {fmt::format("Log-likelihood, by {}", gadget),
       plot_svg({likelihood},
                {.x_label = "iteration", .y_label = "log-likelihood", .width_px = width_px, .height_px = height_px})});
}

}  // namespace

std::vector<ReportCurve> count_curves(const Json& run) {
  std::vector<ReportCurve> curves;
  if (is_live(run)) add_count_rate(run, curves);
  return curves;
}

std::vector<ReportCurve> likelihood_curves(const Json& run) {
  std::vector<ReportCurve> curves;
  if (const auto gadgets = run.find("gadgets"); gadgets != run.end())
    for (const auto& [name, gadget] : gadgets->items())
      if (const auto figures = gadget.find("figures"); figures != gadget.end()) add_likelihood(name, *figures, curves);
  return curves;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
