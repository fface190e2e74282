// Profiles of scatter estimates: see scatter_plot.hpp.
#include "gadgets/ring/io/scatter_plot.hpp"

#include <cstddef>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "gadgets/io/picture/plot.hpp"

namespace tofstream {

void plot_scatter(const std::filesystem::path& path, const ScatterEstimate& estimate) {
  const ScatterEstimate lines = estimate.without_tof();
  const auto radial = static_cast<std::size_t>(lines.size[0]);
  std::vector<double> distances;
  for (std::size_t s = 0; s < radial; ++s)
    distances.push_back((static_cast<double>(s) - 0.5 * static_cast<double>(radial - 1)) *
                        static_cast<double>(lines.radial_mm));
  const auto profile = [&](std::string label, auto&& value) {
    PlotSeries made{.label = std::move(label), .x = distances};
    for (std::size_t s = 0; s < radial; ++s) made.y.push_back(value(s));
    return made;
  };
  const auto at = [&](double phi) {
    return [&, phi](std::size_t s) {
      return static_cast<double>(
          scatter_at(lines, {static_cast<float>(distances[s]), static_cast<float>(phi), 0, 0, 0}));
    };
  };
  const auto mean = [&](std::size_t s) {
    double sum = 0;
    for (std::size_t v = s; v < lines.values.size(); v += radial) sum += static_cast<double>(lines.values[v]);
    return sum * static_cast<double>(radial) / static_cast<double>(lines.values.size());
  };
  write_plot(path,
             {profile("along y, middle plane", at(0)), profile("along x, middle plane", at(0.5 * std::numbers::pi)),
              profile("mean of all lines", mean)},
             {.title = "Scatter estimate",
              .x_label = "distance from the axis (mm)",
              .y_label = "counts per s of a pair of efficiency 1"});
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
