// Line plots (contrast-noise curves, profiles, convergence) with axes, ticks and a legend, as PNG
// or SVG.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tofstream {

struct PlotSeries {
  std::string label;  // empty: not in the legend
  std::vector<double> x, y;
  std::vector<double> error;  // half length of error bars in y; empty: none
  bool line = true;
  bool markers = true;
  bool dashed = false;
  std::optional<std::size_t> style;  // number of colour and marker; default: its place in the list
};

struct PlotRange {
  double low = 0, high = 1;
};

struct PlotSettings {
  std::string title, x_label, y_label;
  std::optional<PlotRange> x_range, y_range;  // default: round numbers around the data
  bool x_log = false, y_log = false;
  int width_px = 1200, height_px = 800;
};

/// Draws series into a .png or .svg by suffix; the file appears by rename, or not at all. Throws
/// std::invalid_argument for no points, x and y of different lengths, values that are not finite
/// (or not positive on a logarithmic axis), another suffix; std::runtime_error when it cannot be
/// written.
void write_plot(const std::filesystem::path& path, const std::vector<PlotSeries>& series,
                const PlotSettings& settings = {});

/// The same as SVG, as text. Throws as write_plot does.
std::string plot_svg(const std::vector<PlotSeries>& series, const PlotSettings& settings = {});

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
