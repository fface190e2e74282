// Three planes of an image side by side at one scale, with captions, orientation, scale bar and
// colour bar: see image_view.hpp.
#include "gadgets/io/picture/image_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/picture/canvas.hpp"
#include "gadgets/io/picture/slices.hpp"
#include "gadgets/io/picture/ticks.hpp"

namespace tofstream {

namespace {

using namespace detail;

constexpr double margin = 30, caption = 30, gap = 34, scale_bar_band = 44, bar_width = 18, bar_band = 120;
constexpr Colour grey{0.55, 0.55, 0.58};

struct Panel {
  Plane plane;
  std::string caption;
  std::array<const char*, 4> letters;  // left, right, top, bottom
  double across = -1, down = -1;       // where the other slices cut this one, 0 to 1; < 0: nowhere
  double x = 0, y = 0;
  int width = 0, height = 0;  // in pixels, once laid out
};

struct Range {
  double low = 0, high = 1;
};

int voxel_at(const Grid& grid, int axis, float mm) {
  const auto index = std::lround((mm - grid.origin_mm[axis]) / grid.voxel_mm[axis]);
  if (index < 0 || index >= grid.size[axis])
    throw std::invalid_argument(
        fmt::format("the slices' point lies outside the image: {:g} mm along {}", mm, "xyz"[axis]));
  return static_cast<int>(index);
}

using Panels = std::vector<Panel>;

/// The axis along which an image is one voxel thick, as in a 2D reconstruction; none for a volume.
std::optional<int> flat_axis(const Grid& grid) {
  const auto is_flat = [&](int axis) { return grid.size[axis] == 1; };
  if (is_flat(0) + is_flat(1) + is_flat(2) != 1) return {};
  return is_flat(0) ? 0 : (is_flat(1) ? 1 : 2);
}

Panels make_panels(const Image& image, const ViewSettings& settings) {
  constexpr const char* names[] = {"Sagittal", "Coronal", "Transverse"};
  constexpr std::array<const char*, 4> letters[] = {{"A", "P", "H", "F"}, {"R", "L", "H", "F"}, {"R", "L", "A", "P"}};
  const Grid& grid = image.grid;
  auto point = settings.point_mm;
  if (!point && settings.at_hottest && settings.kind == ViewSettings::Kind::slices) point = hottest_place_mm(image);
  // A scanner sees little in the slices at its ends: a projection would show nothing but their noise.
  constexpr int one_in = 20;
  const int ends = grid.size[2] / one_in;
  Panels panels(3);
  double cut[3];
  for (std::size_t n = 0; n < 3; ++n) {
    const int axis = 2 - static_cast<int>(n);  // transverse first
    const auto along = static_cast<Looking>(axis);
    panels[n].letters = letters[axis];
    if (settings.kind == ViewSettings::Kind::mip) {
      panels[n].plane = maximum_projection(image, along, ends);
      panels[n].caption = fmt::format("{} maximum", names[axis]);
      if (axis == 2 && ends > 0)
        panels[n].caption += fmt::format(", {} slice{} at each end left out", ends, ends == 1 ? "" : "s");
      continue;
    }
    const int index = point ? voxel_at(grid, axis, (*point)[axis]) : grid.size[axis] / 2;
    const float mm = grid.origin_mm[axis] + static_cast<float>(index) * grid.voxel_mm[axis];
    panels[n].plane = slice(image, along, index);
    panels[n].caption = fmt::format("{}, {} = {:.1f} mm", names[axis], "xyz"[axis], mm + 0.0f);
    cut[axis] = (index + 0.5) / grid.size[axis];
  }
  if (const auto flat = flat_axis(grid)) return {panels[2 - static_cast<std::size_t>(*flat)]};
  if (settings.kind == ViewSettings::Kind::mip) return panels;
  panels[0].across = panels[1].across = cut[0];
  panels[2].across = panels[0].down = cut[1];
  panels[1].down = panels[2].down = 1 - cut[2];
  return panels;
}

/// The values at the map's ends: as given, or from 0 (or a negative minimum) to near the maximum.
Range range_of(const Panels& panels, const ViewSettings& settings) {
  std::vector<float> shown;
  for (const Panel& panel : panels) shown.insert(shown.end(), panel.plane.values.begin(), panel.plane.values.end());
  const auto [least, most] = std::ranges::minmax(shown);
  const auto nearly_all = shown.begin() + static_cast<std::ptrdiff_t>(0.999 * static_cast<double>(shown.size() - 1));
  std::ranges::nth_element(shown, nearly_all);
  const bool outliers = most > 1.5f * *nearly_all && *nearly_all > 0;
  constexpr float smallest_share = 0.1f;  // of the maximum: where sources are small and few, nearly all is background
  const float high = outliers ? std::max(*nearly_all, smallest_share * most) : most;
  Range range{settings.low.value_or(std::min(0.0, static_cast<double>(least))),
              settings.high.value_or(static_cast<double>(high))};
  if (!settings.high && !(range.high > range.low)) range.high = range.low + 1;  // a constant image
  if (!(range.high > range.low && std::isfinite(range.low) && std::isfinite(range.high)))
    throw std::invalid_argument(fmt::format("the colours' range from {} to {} is empty", range.low, range.high));
  return range;
}

double room_for_panels(int width) {
  return width - 2 * margin - bar_band;
}
double tallest_panels(int width) {
  return 0.8 * width;
}

/// At the left, so large.
void place(Panel& panel, double pixels_per_mm, double top) {
  panel.width = std::max(static_cast<int>(panel.plane.width_mm() * pixels_per_mm), 1);
  panel.height = std::max(static_cast<int>(panel.plane.height_mm() * pixels_per_mm), 1);
  panel.x = margin;
  panel.y = top;
}

double lay_out_one(Panel& panel, int width, double top) {
  const double scale =
      std::min(room_for_panels(width) / panel.plane.width_mm(), tallest_panels(width) / panel.plane.height_mm());
  place(panel, scale, top);
  return scale;
}

/// Places the panels in a row, or the first beside the other two, one above the other, whichever shows more. Returns
/// pixels a mm.
double lay_out(Panels& p, int width, double top) {
  if (p.size() == 1) return lay_out_one(p.front(), width, top);
  const auto [wt, ht] = std::pair(p[0].plane.width_mm(), p[0].plane.height_mm());
  const auto [wc, hc] = std::pair(p[1].plane.width_mm(), p[1].plane.height_mm());
  const auto [ws, hs] = std::pair(p[2].plane.width_mm(), p[2].plane.height_mm());
  const double room = room_for_panels(width), tallest = tallest_panels(width);
  const double row = std::min((room - 2 * gap) / (wt + wc + ws), tallest / std::max({ht, hc, hs}));
  const double column =
      std::min((room - gap) / (wt + std::max(wc, ws)), std::min(tallest / ht, (tallest - gap - caption) / (hc + hs)));
  const double scale = std::max(row, column);
  for (Panel& panel : p) place(panel, scale, top);
  const double narrowest = std::min(180.0, room / 3 - gap);  // leaves room for its caption
  const auto beside = [&](const Panel& panel) { return panel.x + std::max<double>(panel.width, narrowest) + gap; };
  p[1].x = p[2].x = std::round(beside(p[0]));
  if (row >= column) {
    p[2].x = std::round(beside(p[1]));
  } else {
    p[2].y = top + p[1].height + gap + caption - 14;
  }
  return scale;
}

/// The value at (u, v) in units of samples: interpolated between centres, or the nearest sample's.
float sample(const Plane& plane, double u, double v, bool interpolate) {
  const double x = std::clamp(u - 0.5, 0.0, plane.columns - 1.0), y = std::clamp(v - 0.5, 0.0, plane.rows - 1.0);
  if (!interpolate) return plane.at(static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)));
  const int i = std::min(static_cast<int>(x), std::max(plane.columns - 2, 0));
  const int j = std::min(static_cast<int>(y), std::max(plane.rows - 2, 0));
  const int i2 = std::min(i + 1, plane.columns - 1), j2 = std::min(j + 1, plane.rows - 1);
  const auto fx = static_cast<float>(x - i), fy = static_cast<float>(y - j);
  return (1 - fy) * ((1 - fx) * plane.at(i, j) + fx * plane.at(i2, j)) +
         fy * ((1 - fx) * plane.at(i, j2) + fx * plane.at(i2, j2));
}

std::uint32_t packed(const Colour& c) {
  const auto byte = [](double v) { return static_cast<std::uint32_t>(std::lround(255 * v)); };
  return byte(c.red) << 16 | byte(c.green) << 8 | byte(c.blue);
}

std::vector<std::uint32_t> colours_of(const Panel& panel, const Range& range, const ViewSettings& settings) {
  constexpr int shades = 1024;
  std::vector<std::uint32_t> map;
  map.reserve(shades);
  for (int s = 0; s < shades; ++s) map.push_back(packed(colour(settings.map, s / (shades - 1.0))));
  const auto width = static_cast<std::size_t>(panel.width);
  std::vector<std::uint32_t> pixels(width * static_cast<std::size_t>(panel.height));
  tbb::parallel_for(0, panel.height, [&](int y) {
    std::uint32_t* const row = pixels.data() + static_cast<std::size_t>(y) * width;
    for (int x = 0; x < panel.width; ++x) {
      const auto value = static_cast<double>(sample(panel.plane, (x + 0.5) * panel.plane.columns / panel.width,
                                                    (y + 0.5) * panel.plane.rows / panel.height, settings.interpolate));
      const double part = std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
      row[x] = map[static_cast<std::size_t>(std::lround(part * (shades - 1)))];
    }
  });
  return pixels;
}

/// Small wedges at the edges where the other two slices cut this one.
void draw_cuts(Canvas& canvas, const Panel& p) {
  if (p.across < 0) return;
  const double x = p.x + p.across * p.width, y = p.y + p.down * p.height;
  const auto wedge = [&](double tip_x, double tip_y, double dx, double dy) {
    cairo_move_to(canvas.cairo(), tip_x, tip_y);
    cairo_line_to(canvas.cairo(), tip_x + 7 * dx - 4 * dy, tip_y + 7 * dy + 4 * dx);
    cairo_line_to(canvas.cairo(), tip_x + 7 * dx + 4 * dy, tip_y + 7 * dy - 4 * dx);
    cairo_close_path(canvas.cairo());
    canvas.set_colour({0.84, 0.37, 0.0});
    cairo_fill(canvas.cairo());
  };
  wedge(x, p.y + p.height + 1, 0, 1);
  wedge(p.x - 1, y, -1, 0);
}

void draw_panel(Canvas& canvas, const Panel& p, const Range& range, const ViewSettings& settings) {
  canvas.pixels(p.x, p.y, p.width, p.height, colours_of(p, range, settings));
  canvas.frame(p.x, p.y, p.width, p.height, grey);
  canvas.text(p.x, p.y - 9, p.caption, {.size = 15});
  const Colour base = colour(settings.map, 0);
  const double shade = base.green > 0.5 ? 0.15 : 1.0;
  TextStyle style{
      .size = 14, .bold = true, .colour = {shade, shade, shade}, .align = Align::centre, .middle = true, .halo = true};
  if (p.width > 60) {
    canvas.text(p.x + 13, p.y + 0.5 * p.height, p.letters[0], style);
    canvas.text(p.x + p.width - 13, p.y + 0.5 * p.height, p.letters[1], style);
  }
  if (p.height > 60) {
    canvas.text(p.x + 0.5 * p.width, p.y + 14, p.letters[2], style);
    canvas.text(p.x + 0.5 * p.width, p.y + p.height - 14, p.letters[3], style);
  }
  draw_cuts(canvas, p);
}

/// A scale bar of a round length, at most 0.4 of the widest panel.
void draw_scale_bar(Canvas& canvas, double x, double y, double pixels_per_mm, double widest_mm) {
  const double mm = round_down(0.4 * widest_mm), end = x + mm * pixels_per_mm;
  const Colour ink{0.13, 0.13, 0.15};
  canvas.line(x, y, end, y, ink, 2);
  canvas.line(x, y - 5, x, y + 5, ink, 2);
  canvas.line(end, y - 5, end, y + 5, ink, 2);
  canvas.text(end + 10, y, fmt::format("{:g} mm", mm), {.size = 14, .middle = true});
}

void draw_colour_bar(Canvas& canvas, double x, double y, int height, const Range& range, const ViewSettings& settings) {
  std::vector<std::uint32_t> pixels;
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < static_cast<int>(bar_width); ++column)
      pixels.push_back(packed(colour(settings.map, 1 - (row + 0.5) / height)));
  canvas.pixels(x, y, static_cast<int>(bar_width), height, pixels);
  canvas.frame(x, y, bar_width, height, grey);
  const Ticks ticks = linear_ticks(range.low, range.high, std::clamp(height / 50, 2, 8));
  for (std::size_t t = 0; t < ticks.values.size(); ++t) {
    const double at = y + height * (1 - (ticks.values[t] - range.low) / (range.high - range.low));
    canvas.line(x + bar_width + 1, at, x + bar_width + 6, at, grey, 1);
    canvas.text(x + bar_width + 10, at, ticks.labels[t], {.size = 14, .middle = true});
  }
  canvas.text(x, y - 9, ticks.unit_label(settings.unit), {.size = 14});
}

double note_height(const ViewSettings& settings) {
  constexpr double line = 24;
  return settings.note.empty() ? 0 : line;
}

/// One line, cut where it does not fit.
void draw_note(Canvas& canvas, double y, const ViewSettings& settings) {
  constexpr double size = 14, widest_letter = 0.55 * size;
  const auto room = static_cast<std::size_t>((settings.width_px - 2 * margin) / widest_letter);
  const std::string text = settings.note.size() <= room ? settings.note : settings.note.substr(0, room - 3) + "...";
  canvas.text(margin, y + 8, text, {.size = size, .colour = {0.64, 0.08, 0.11}});
}

bool is_finite(const Image& image) {
  using Voxels = tbb::blocked_range<const float*>;
  const std::span<const float> all = image.voxels.span();
  constexpr std::size_t grain = std::size_t{1} << 16;
  return tbb::parallel_reduce(
      Voxels(all.data(), all.data() + all.size(), grain), true,
      [](const Voxels& voxels, bool finite) {
        for (const float v : voxels) finite &= std::abs(v) <= std::numeric_limits<float>::max();
        return finite;
      },
      std::logical_and<>());
}

void validate(const Image& image, const ViewSettings& settings) {
  tofstream::validate(image.grid);
  if (settings.width_px < 400 || settings.width_px > 8000)
    throw std::invalid_argument(fmt::format("a picture is 400 to 8000 pixels wide, not {}", settings.width_px));
  if (!is_finite(image)) throw std::invalid_argument("the image to draw holds a value that is not finite");
}

void draw(Canvas::Write write, const Image& image, const ViewSettings& settings) {
  Panels panels = make_panels(image, settings);
  const Range range = range_of(panels, settings);
  const double top = margin + caption + (settings.title.empty() ? 0 : 34);
  const double scale = lay_out(panels, settings.width_px, top);
  double bottom = 0, right = 0, widest = 0;
  for (const Panel& p : panels) {
    bottom = std::max(bottom, p.y + p.height);
    right = std::max(right, p.x + p.width);
    widest = std::max(widest, p.plane.width_mm());
  }
  Canvas canvas(std::move(write), false, settings.width_px,
                static_cast<int>(bottom + scale_bar_band + note_height(settings) + margin / 2));
  if (!settings.title.empty()) canvas.text(margin, margin + 14, settings.title, {.size = 21, .bold = true});
  for (const Panel& p : panels) draw_panel(canvas, p, range, settings);
  draw_scale_bar(canvas, margin, bottom + 28, scale, widest);
  if (!settings.note.empty()) draw_note(canvas, bottom + scale_bar_band, settings);
  draw_colour_bar(canvas, std::round(right + gap), top, static_cast<int>(bottom - top), range, settings);
  canvas.finish();
}

}  // namespace

Vec3 hottest_place_mm(const Image& image) {
  const Grid& grid = image.grid;
  const auto mean_about = [&](int x, int y, int z) {
    double sum = 0;
    int count = 0;
    for (int k = std::max(z - 1, 0); k <= std::min(z + 1, grid.size[2] - 1); ++k)
      for (int j = std::max(y - 1, 0); j <= std::min(y + 1, grid.size[1] - 1); ++j)
        for (int i = std::max(x - 1, 0); i <= std::min(x + 1, grid.size[0] - 1); ++i, ++count)
          sum += static_cast<double>(image.voxels[grid.index(i, j, k)]);
    return sum / count;
  };
  const int margin = grid.size[2] > 4 ? 2 : 0;  // the ends, and slices whose mean would include them
  double most = -std::numeric_limits<double>::infinity();
  Vec3 hottest = grid.centre(grid.size[0] / 2, grid.size[1] / 2, grid.size[2] / 2);
  for (int k = margin; k < grid.size[2] - margin; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        if (const double mean = mean_about(i, j, k); mean > most) {
          most = mean;
          hottest = grid.centre(i, j, k);
        }
  return hottest;
}

void load_fonts() {
  Canvas canvas([](std::span<const std::byte>) {}, false, 1, 1);
  for (const bool bold : {false, true}) canvas.text_width("mm", {.bold = bold});
}

void write_view_png(const std::filesystem::path& path, const Image& image, const ViewSettings& settings) {
  if (is_svg(path)) throw std::invalid_argument(fmt::format("{}: an image is drawn as .png", path.string()));
  validate(image, settings);
  AtomicFile temporary(path);
  draw(detail::write_to(temporary), image, settings);
  temporary.commit();
}

std::string view_png(const Image& image, const ViewSettings& settings) {
  validate(image, settings);
  std::string bytes;
  draw(detail::append_to(bytes), image, settings);
  return bytes;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
