// Pictures: files of the right size with the right pixels, and what is refused.
#include <filesystem>
#include <fstream>
#include <span>

#include <cairo.h>
#include <unistd.h>

#include "gadgets/io/picture/image_view.hpp"
#include "gadgets/io/picture/plot.hpp"
#include "gadgets/io/picture/slices.hpp"
#include "gadgets/io/picture/ticks.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
namespace fs = std::filesystem;

namespace {

/// A temporary folder, removed at the end; TOFSTREAM_KEEP_PICTURES names one that is kept.
struct PictureFolder {
  const char* kept = std::getenv("TOFSTREAM_KEEP_PICTURES");
  fs::path path = kept ? fs::path(kept) : fs::temp_directory_path() / fmt::format("tofstream-picture-{}", ::getpid());
  PictureFolder() { fs::create_directories(path); }
  ~PictureFolder() {
    if (!kept) fs::remove_all(path);
  }
  fs::path operator/(const char* name) const { return path / name; }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};

/// A cylinder of activity with six hot spheres in the slice z = 0, the largest at the patient's left.
Image spheres(int n, int slices, float voxel) {
  Image image = Image::zeros(Grid::centred(n, n, slices, {voxel, voxel, voxel}));
  const float diameters[] = {37, 28, 22, 17, 13, 10};
  for (int k = 0; k < slices; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const Vec3 p = image.grid.centre(i, j, k);
        float& value = image.voxels[image.grid.index(i, j, k)];
        if (std::hypot(p.x, p.y) < 110 && std::abs(p.z) < 90) value = 5300;
        for (int s = 0; s < 6; ++s) {
          const float angle = 1.0471976f * static_cast<float>(s);
          const Vec3 d = p - Vec3{57 * std::cos(angle), 57 * std::sin(angle), 0};
          if (norm(d) < diameters[s] / 2) value = 21200;
        }
      }
  return image;
}

struct Pixels {
  explicit Pixels(const fs::path& path) : surface(cairo_image_surface_create_from_png(path.c_str())) {
    REQUIRE(cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS);
  }
  ~Pixels() { cairo_surface_destroy(surface); }
  int width() const { return cairo_image_surface_get_width(surface); }
  int height() const { return cairo_image_surface_get_height(surface); }
  /// Red, 0 to 255.
  int red(int x, int y) const {
    const unsigned char* data = cairo_image_surface_get_data(surface);
    return data[y * cairo_image_surface_get_stride(surface) + 4 * x + 2];
  }
  cairo_surface_t* surface;
};

}  // namespace

TEST_CASE("a projection leaves out as many slices at either end as it is told, seen from every side") {
  Image image = Image::zeros(Grid::centred(3, 4, 10, {1, 1, 1}));
  image.voxels[image.grid.index(0, 0, 0)] = image.voxels[image.grid.index(2, 3, 9)] = 9;  // noise
  image.voxels[image.grid.index(1, 2, 1)] = 5;
  image.voxels[image.grid.index(1, 2, 8)] = 4;
  for (const auto along : {tofstream::detail::Looking::sagittal, tofstream::detail::Looking::coronal,
                           tofstream::detail::Looking::transverse}) {
    const auto all = tofstream::detail::maximum_projection(image, along),
               inner = tofstream::detail::maximum_projection(image, along, 1);
    CHECK(std::ranges::max(all.values) == 9);
    CHECK(std::ranges::max(inner.values) == 5);
    const bool along_z = along == tofstream::detail::Looking::transverse;
    CHECK(inner.rows == all.rows - (along_z ? 0 : 2));
    CHECK(inner.values.size() == static_cast<std::size_t>(inner.rows) * static_cast<std::size_t>(inner.columns));
    if (!along_z) {  // the head is up
      CHECK(std::ranges::max(std::span(inner.values).first(static_cast<std::size_t>(inner.columns))) == 4);
      CHECK(std::ranges::max(std::span(inner.values).last(static_cast<std::size_t>(inner.columns))) == 5);
    }
  }
}

TEST_CASE("planes are seen from the feet and the front, head up") {
  Image image = Image::zeros(Grid::centred(2, 3, 4, {1, 2, 3}));
  for (std::int64_t v = 0; v < image.voxels.size(); ++v) image.voxels[v] = static_cast<float>(v);
  const auto transverse = tofstream::detail::slice(image, tofstream::detail::Looking::transverse, 1);
  CHECK(transverse.columns == 2);
  CHECK(transverse.rows == 3);
  CHECK(transverse.width_mm() == 2);
  CHECK(transverse.height_mm() == 6);
  CHECK(transverse.at(0, 0) == image.voxels[image.grid.index(0, 0, 1)]);
  CHECK(transverse.at(1, 2) == image.voxels[image.grid.index(1, 2, 1)]);
  const auto coronal = tofstream::detail::slice(image, tofstream::detail::Looking::coronal, 2);
  CHECK(coronal.at(0, 0) == image.voxels[image.grid.index(0, 2, 3)]);
  CHECK(coronal.at(1, 3) == image.voxels[image.grid.index(1, 2, 0)]);
  const auto sagittal = tofstream::detail::slice(image, tofstream::detail::Looking::sagittal, 1);
  CHECK(sagittal.at(0, 0) == image.voxels[image.grid.index(1, 0, 3)]);
  CHECK(sagittal.at(2, 3) == image.voxels[image.grid.index(1, 2, 0)]);
  const auto mip = tofstream::detail::maximum_projection(image, tofstream::detail::Looking::sagittal);
  CHECK(mip.at(2, 3) == image.voxels[image.grid.index(1, 2, 0)]);
}

TEST_CASE("slices and projections are drawn in every map, nothing else is left in the folder") {
  const PictureFolder folder;
  const Image image = spheres(125, 50, 2);
  ViewSettings settings{.title = "NEMA-like spheres, 4:1"};
  write_view_png(folder / "slices.png", image, settings);
  settings.kind = ViewSettings::Kind::mip;
  settings.map = ColourMap::hot;
  write_view_png(folder / "mip.png", image, settings);
  settings.map = ColourMap::viridis;
  settings.kind = ViewSettings::Kind::slices;
  settings.point_mm = Vec3{57, 0, 0};
  settings.interpolate = false;
  write_view_png(folder / "viridis.png", spheres(60, 90, 4), settings);
  CHECK(folder.files() >= 3);
  const Pixels pixels(folder / "slices.png");
  CHECK(pixels.width() == 1200);
  CHECK(pixels.height() > 300);
  // The large sphere, at x = +57 mm, is dark on the right of the transverse slice; its mirror image is smaller.
  // The panel starts at (30, 94) and is as wide as the layout made it: found by its frame.
  int right = 31;
  while (right < 1199 && pixels.red(right, 120) > 200) ++right;
  const double scale = (right - 30) / 250.0;
  const auto at = [&](double x, double y) {
    return pixels.red(static_cast<int>(30 + (x + 125) * scale), static_cast<int>(94 + (y + 125) * scale));
  };
  CHECK(at(57, 0) < 10);
  CHECK(at(57 - 14, 0) < 60);
  CHECK(at(-57, 0) < 60);
  CHECK(at(-57 + 14, 0) > 150);
  CHECK(at(0, 0) > 150);
  CHECK(at(-120, 100) == 255);
}

TEST_CASE("constant, tiny and negative images are drawn") {
  const PictureFolder folder;
  write_view_png(folder / "a.png", Image::zeros(Grid::centred(1, 1, 1, {4, 4, 4})));
  write_view_png(folder / "b.png", Image::filled(Grid::centred(2, 30, 200, {4, 4, 4}), -3.0f));
  CHECK(Pixels(folder / "b.png").height() <= 1400);
}

TEST_CASE("of an image one voxel thick there is one slice, which fills the picture") {
  const PictureFolder folder;
  write_view_png(folder / "flat.png", Image::filled(Grid::centred(1, 65, 75, {4, 4, 4}), 1.0f));
  const Pixels flat(folder / "flat.png");
  CHECK(flat.height() > 900);
  CHECK(flat.height() < 1200);
}

TEST_CASE("where sources are few and small, the background does not become as dark as they are") {
  Image image = Image::filled(Grid::centred(64, 64, 64, {4, 4, 4}), 1e-4f);
  image.voxels[image.grid.index(32, 32, 32)] = 1000;
  const PictureFolder folder;
  write_view_png(folder / "point.png", image);
  const Pixels picture(folder / "point.png");
  int dark = 0;
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x) dark += picture.red(x, y) < 64 ? 1 : 0;
  CHECK(dark < picture.width() * picture.height() / 20);
}

TEST_CASE("views that cannot be drawn are refused and leave nothing behind") {
  const PictureFolder folder;
  const Image image = spheres(10, 10, 4);
  const auto refused = [&](const ViewSettings& settings, const Image& what) {
    CHECK_THROWS_AS(write_view_png(folder / "no.png", what, settings), std::invalid_argument);
    CHECK(!fs::exists(folder / "no.png"));
  };
  refused({.width_px = 10}, image);
  refused({.point_mm = Vec3{500, 0, 0}}, image);
  refused({.low = 3, .high = 3}, image);
  refused({.low = std::nan("")}, image);
  Image broken = spheres(10, 10, 4);
  broken.voxels[3] = std::nanf("");
  refused({}, broken);
  CHECK_THROWS_AS(write_view_png(folder / "no.jpg", image), std::invalid_argument);
  CHECK_THROWS_AS(write_view_png(folder / "none" / "a.png", image), std::runtime_error);
}

TEST_CASE("plots are written as PNG and SVG") {
  const PictureFolder folder;
  std::vector<PlotSeries> curves;
  for (const bool tof : {true, false})
    for (const int diameter : {10, 13, 17, 22, 28, 37}) {
      PlotSeries s{.label = fmt::format("{} {} mm", tof ? "ToF" : "non-ToF", diameter),
                   .dashed = !tof,
                   .style = curves.size() % 6};
      for (int iteration = 1; iteration <= 10; ++iteration) {
        s.x.push_back(2 + (tof ? 0.6 : 0.9) * iteration);
        s.y.push_back(95 * (1 - 5.0 / diameter) * (1 - std::exp(-iteration * (tof ? 0.6 : 0.35))));
      }
      curves.push_back(s);
    }
  const PlotSettings settings{.title = "Contrast and noise over iterations",
                              .x_label = "background variability (%)",
                              .y_label = "contrast recovery (%)"};
  write_plot(folder / "plot.png", curves, settings);
  write_plot(folder / "plot.svg", curves, settings);
  CHECK(Pixels(folder / "plot.png").width() == 1200);
  std::ifstream svg(folder / "plot.svg");
  std::string start(200, ' ');
  svg.read(start.data(), 200);
  CHECK(start.find("<svg") != std::string::npos);
  PlotSeries profile{.label = "profile", .markers = false};
  PlotSeries points{.label = "measured", .line = false};
  for (int i = 0; i <= 60; ++i) {
    profile.x.push_back(i - 30);
    profile.y.push_back(2.1e6 * std::exp(-0.5 * std::pow((i - 30) / 8.0, 2)));
    if (i % 6) continue;
    points.x.push_back(i - 30);
    points.y.push_back(2e6 * std::exp(-0.5 * std::pow((i - 31) / 8.0, 2)));
    points.error.push_back(1e5);
  }
  write_plot(folder / "profile.png", {profile, points}, {.x_label = "x (mm)", .y_label = "activity (Bq/mL)"});
  write_plot(folder / "log.png", {{.label = "error", .x = {1, 10, 100, 1000}, .y = {1, 0.1, 0.02, 1e-3}}},
             {.x_label = "updates", .y_label = "normalised RMS", .x_log = true, .y_log = true});
  write_plot(folder / "one.png", {{.x = {0}, .y = {0}}});
}

TEST_CASE("plots that cannot be drawn are refused") {
  const PictureFolder folder;
  const auto refused = [&](const std::vector<PlotSeries>& series, const PlotSettings& settings) {
    CHECK_THROWS_AS(write_plot(folder / "no.png", series, settings), std::invalid_argument);
    CHECK(!fs::exists(folder / "no.png"));
  };
  refused({}, {});
  refused({{.x = {1, 2}, .y = {1}}}, {});
  refused({{.x = {1}, .y = {std::nan("")}}}, {});
  refused({{.x = {0}, .y = {1}}}, {.x_log = true});
  refused({{.x = {0}, .y = {1}}}, {.y_range = PlotRange{1, 1}});
  CHECK_THROWS_AS(write_plot(folder / "no.jpg", {{.x = {1}, .y = {1}}}), std::invalid_argument);
}

TEST_CASE("ticks are round numbers with as many decimals as they need") {
  using tofstream::detail::linear_ticks;
  CHECK(linear_ticks(0, 1, 5).labels == std::vector<std::string>{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(linear_ticks(-3, 12, 4).labels == std::vector<std::string>{"0", "5", "10"});
  const auto large = linear_ticks(0, 2.1e6, 5);
  CHECK(large.labels == std::vector<std::string>{"0.0", "0.5", "1.0", "1.5", "2.0"});
  CHECK(large.unit_label("Bq/mL") == "×10⁶ Bq/mL");
  const auto small = linear_ticks(0, 3e-4, 3);
  CHECK(small.labels == std::vector<std::string>{"0", "100", "200", "300"});
  CHECK(small.unit_label("") == "×10⁻⁶");
  CHECK(tofstream::detail::log_ticks(1, 100).labels ==
        std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"});
  CHECK(tofstream::detail::round_down(49.9) == approx(20));
  CHECK(tofstream::detail::round_down(50) == approx(50));
}

TEST_CASE("colour maps run from end to end, and take values outside to the nearest end") {
  CHECK(colour(ColourMap::inverted_grey, -1).red == 1);
  CHECK(colour(ColourMap::inverted_grey, 2).red == 0);
  CHECK(colour(ColourMap::inverted_grey, std::nan("")).red == 1);
  CHECK(colour(ColourMap::hot, 0.37).green == approx(0));
  for (const ColourMap map : {ColourMap::grey, ColourMap::hot, ColourMap::viridis}) {
    double previous = -1;
    for (int i = 0; i <= 100; ++i) {
      const Colour c = colour(map, i / 100.0);
      const double luminance = 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
      CHECK(luminance > previous);
      previous = luminance;
    }
  }
  CHECK(colour_map("hot") == ColourMap::hot);
  CHECK_THROWS_AS(colour_map("jet"), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
