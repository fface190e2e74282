// Line plots with axes, grid, error bars and a legend at the right: see plot.hpp.
#include "gadgets/io/picture/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/picture/canvas.hpp"
#include "gadgets/io/picture/ticks.hpp"

namespace tofstream {

namespace {

using namespace detail;

constexpr Colour ink{0.13, 0.13, 0.15}, grid_colour{0.88, 0.88, 0.90};

/// Colours that colour-blind people can tell apart too (Okabe and Ito 2008), in order of contrast.
constexpr std::array<Colour, 8> series_colours = {{{0.00, 0.45, 0.70},
                                                   {0.84, 0.37, 0.00},
                                                   {0.00, 0.62, 0.45},
                                                   {0.80, 0.47, 0.65},
                                                   {0.34, 0.71, 0.91},
                                                   {0.90, 0.62, 0.00},
                                                   {0.35, 0.35, 0.38},
                                                   {0.60, 0.20, 0.25}}};

/// One axis: the data's range, and whether it is logarithmic.
struct PlotAxis {
  PlotRange range;
  bool log = false;
  Ticks ticks;

  /// 0 at the low end, 1 at the high end.
  double part(double value) const {
    if (log) return std::log(value / range.low) / std::log(range.high / range.low);
    return (value - range.low) / (range.high - range.low);
  }
};

PlotAxis make_axis(double low, double high, bool log, const std::optional<PlotRange>& asked, int most,
                   const char* name) {
  PlotAxis axis;
  axis.log = log;
  if (asked) {
    if (!(asked->high > asked->low && std::isfinite(asked->low) && std::isfinite(asked->high)) ||
        (log && asked->low <= 0))
      throw std::invalid_argument(
          fmt::format("the plot's range along {} from {} to {} is empty", name, asked->low, asked->high));
    axis.range = *asked;
  } else if (log) {
    axis.range = {low / std::pow(high / low, 0.05), high * std::pow(high / low, 0.05)};
    if (low == high) axis.range = {low / 2, high * 2};
  } else {
    if (low == high) {
      const double around = low == 0 ? 1 : 0.5 * std::abs(low);
      low -= around;
      high += around;
    }
    const Ticks rough = linear_ticks(low, high, most);
    const double step = rough.values.size() > 1 ? rough.values[1] - rough.values[0] : high - low;
    if (low >= 0 && low < 0.35 * high) low = 0;  // near enough to show the origin
    axis.range = {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step};
  }
  axis.ticks = log ? log_ticks(axis.range.low, axis.range.high) : linear_ticks(axis.range.low, axis.range.high, most);
  return axis;
}

void validate(const std::vector<PlotSeries>& series, const PlotSettings& settings) {
  if (settings.width_px < 300 || settings.width_px > 8000 || settings.height_px < 200 || settings.height_px > 8000)
    throw std::invalid_argument(
        fmt::format("a plot of {} x {} pixels cannot be drawn", settings.width_px, settings.height_px));
  std::size_t points = 0;
  for (const PlotSeries& s : series) {
    if (s.x.size() != s.y.size() || (!s.error.empty() && s.error.size() != s.y.size()))
      throw std::invalid_argument(fmt::format("plot: '{}' has {} x for {} y", s.label, s.x.size(), s.y.size()));
    const auto fits = [](bool log) { return [log](double v) { return std::isfinite(v) && (!log || v > 0); }; };
    if (!std::ranges::all_of(s.x, fits(settings.x_log)) || !std::ranges::all_of(s.y, fits(settings.y_log)) ||
        !std::ranges::all_of(s.error, fits(false)))
      throw std::invalid_argument(fmt::format("plot: '{}' holds a value that cannot be drawn on its axis", s.label));
    points += s.x.size();
  }
  if (points == 0) throw std::invalid_argument("plot: there are no points to draw");
}

/// The rectangle of the axes, and the places of data in it.
class Frame {
 public:
  Frame(Canvas& canvas, const std::vector<PlotSeries>& series, const PlotSettings& settings)
      : canvas_(canvas), settings_(settings) {
    double low[2], high[2];
    for (int a = 0; a < 2; ++a) {
      low[a] = std::numeric_limits<double>::infinity();
      high[a] = -low[a];
    }
    const auto include = [&](int a, double value) {
      low[a] = std::min(low[a], value);
      high[a] = std::max(high[a], value);
    };
    for (const PlotSeries& s : series)
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        include(0, s.x[i]);
        const double error = s.error.empty() ? 0 : s.error[i];
        include(1, s.y[i] + error);
        if (!settings.y_log || s.y[i] > error) include(1, s.y[i] - error);
      }
    x_ = make_axis(low[0], high[0], settings.x_log, settings.x_range, 8, "x");
    y_ = make_axis(low[1], high[1], settings.y_log, settings.y_range, 7, "y");
    place(series);
  }

  double x(double value) const { return left_ + x_.part(value) * (right_ - left_); }
  double y(double value) const { return bottom_ - y_.part(value) * (bottom_ - top_); }
  double legend_x() const { return right_ + 24; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }

  void draw() {
    for (std::size_t t = 0; t < x_.ticks.values.size(); ++t) {
      const double at = std::round(x(x_.ticks.values[t])) + 0.5;
      canvas_.line(at, top_, at, bottom_, grid_colour);
      canvas_.text(at, bottom_ + 22, x_.ticks.labels[t], {.size = 15, .align = Align::centre});
    }
    for (std::size_t t = 0; t < y_.ticks.values.size(); ++t) {
      const double at = std::round(y(y_.ticks.values[t])) + 0.5;
      canvas_.line(left_, at, right_, at, grid_colour);
      canvas_.text(left_ - 9, at, y_.ticks.labels[t], {.size = 15, .align = Align::right, .middle = true});
    }
    canvas_.line(left_, bottom_, right_, bottom_, ink, 1.5);
    canvas_.line(left_, top_, left_, bottom_, ink, 1.5);
    canvas_.text(0.5 * (left_ + right_), bottom_ + 54, settings_.x_label, {.size = 17, .align = Align::centre});
    canvas_.text(30, 0.5 * (top_ + bottom_), settings_.y_label, {.size = 17, .align = Align::centre, .upright = true});
    canvas_.text(right_, bottom_ + 44, x_.ticks.unit_label(""), {.size = 15, .align = Align::right});
    canvas_.text(left_, top_ - 16, y_.ticks.unit_label(""), {.size = 15, .align = Align::right});
    if (!settings_.title.empty()) canvas_.text(left_, 38, settings_.title, {.size = 21, .bold = true});
  }
  void clip() {
    cairo_rectangle(canvas_.cairo(), left_ - 8, top_ - 8, right_ - left_ + 16, bottom_ - top_ + 16);
    cairo_clip(canvas_.cairo());
  }

 private:
  void place(const std::vector<PlotSeries>& series) {
    double labels = 0, legend = 0;
    for (const std::string& label : y_.ticks.labels) labels = std::max(labels, canvas_.text_width(label, {.size = 15}));
    for (const PlotSeries& s : series)
      if (!s.label.empty()) legend = std::max(legend, 64 + canvas_.text_width(s.label, {.size = 15}));
    left_ = 52 + labels + 14;
    right_ = std::max(canvas_.width() - (legend > 0 ? legend + 30 : 40), left_ + 100);
    top_ = settings_.title.empty() ? 40 : 72;
    bottom_ = canvas_.height() - 78;
  }

  Canvas& canvas_;
  const PlotSettings& settings_;
  PlotAxis x_, y_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;
};

/// How a series is drawn: colours repeat after eight, markers after five.
struct Style {
  Colour colour;
  int marker;
};

Style style_of(const std::vector<PlotSeries>& series, std::size_t place) {
  const std::size_t index = series[place].style.value_or(place);
  return {series_colours[index % series_colours.size()], static_cast<int>(index % 5)};
}

void draw_marker(Canvas& canvas, double x, double y, const Style& style) {
  constexpr double r = 5;
  constexpr double corners[4][4][2] = {{{-r, -r}, {r, -r}, {r, r}, {-r, r}},
                                       {{0, -1.3 * r}, {1.2 * r, r}, {-1.2 * r, r}, {-1.2 * r, r}},
                                       {{0, -1.3 * r}, {1.3 * r, 0}, {0, 1.3 * r}, {-1.3 * r, 0}},
                                       {{0, 1.3 * r}, {1.2 * r, -r}, {-1.2 * r, -r}, {-1.2 * r, -r}}};
  cairo_t* cairo = canvas.cairo();
  cairo_new_path(cairo);
  if (style.marker == 0) {
    cairo_arc(cairo, x, y, r, 0, 6.283185307179586);
  } else {
    for (const auto& corner : corners[style.marker - 1]) cairo_line_to(cairo, x + corner[0], y + corner[1]);
    cairo_close_path(cairo);
  }
  canvas.set_colour(style.colour);
  cairo_fill_preserve(cairo);
  canvas.set_colour({1, 1, 1});
  cairo_set_line_width(cairo, 1);
  cairo_stroke(cairo);
}

void stroke_series(Canvas& canvas, const PlotSeries& s, const Style& style) {
  const double dashes[] = {8, 6};
  canvas.set_colour(style.colour);
  cairo_set_line_width(canvas.cairo(), 2.2);
  cairo_set_dash(canvas.cairo(), dashes, s.dashed ? 2 : 0, 0);
  cairo_stroke(canvas.cairo());
  cairo_set_dash(canvas.cairo(), nullptr, 0, 0);
}

void draw_series(Canvas& canvas, const Frame& frame, const PlotSeries& s, const Style& style) {
  if (s.line) {
    for (std::size_t i = 0; i < s.x.size(); ++i) cairo_line_to(canvas.cairo(), frame.x(s.x[i]), frame.y(s.y[i]));
    stroke_series(canvas, s, style);
  }
  for (std::size_t i = 0; i < s.error.size(); ++i) {
    const double x = frame.x(s.x[i]), high = frame.y(s.y[i] + s.error[i]);
    const double down = s.y[i] - s.error[i];
    const double low = std::isfinite(frame.y(down)) ? frame.y(down) : frame.bottom();
    canvas.line(x, low, x, high, style.colour, 1.2);
    for (const double end : {low, high}) canvas.line(x - 4, end, x + 4, end, style.colour, 1.2);
  }
  for (std::size_t i = 0; s.markers && i < s.x.size(); ++i)
    draw_marker(canvas, frame.x(s.x[i]), frame.y(s.y[i]), style);
}

void draw_legend(Canvas& canvas, const Frame& frame, const std::vector<PlotSeries>& series) {
  const auto entries = std::ranges::count_if(series, [](const PlotSeries& s) { return !s.label.empty(); });
  const double step = std::min(26.0, (frame.bottom() - frame.top()) / static_cast<double>(std::max<long>(entries, 1)));
  double y = frame.top() + 10;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].label.empty()) continue;
    const double x = frame.legend_x();
    if (series[i].line) {
      cairo_move_to(canvas.cairo(), x, y);
      cairo_line_to(canvas.cairo(), x + 36, y);
      stroke_series(canvas, series[i], style_of(series, i));
    }
    if (series[i].markers) draw_marker(canvas, x + 18, y, style_of(series, i));
    canvas.text(x + 46, y, series[i].label, {.size = std::min(15.0, 0.9 * step), .middle = true});
    y += step;
  }
}

void draw(Canvas::Write write, bool svg, const std::vector<PlotSeries>& series, const PlotSettings& settings) {
  Canvas canvas(std::move(write), svg, settings.width_px, settings.height_px);
  Frame frame(canvas, series, settings);
  frame.draw();
  cairo_save(canvas.cairo());
  frame.clip();
  for (std::size_t i = 0; i < series.size(); ++i) draw_series(canvas, frame, series[i], style_of(series, i));
  cairo_restore(canvas.cairo());
  draw_legend(canvas, frame, series);
  canvas.finish();
}

}  // namespace

void write_plot(const std::filesystem::path& path, const std::vector<PlotSeries>& series,
                const PlotSettings& settings) {
  const bool svg = is_svg(path);
  validate(series, settings);
  AtomicFile temporary(path);
  draw(detail::write_to(temporary), svg, series, settings);
  temporary.commit();
}

std::string plot_svg(const std::vector<PlotSeries>& series, const PlotSettings& settings) {
  validate(series, settings);
  std::string text;
  draw(detail::append_to(text), true, series, settings);
  return text;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
