// A drawing surface over cairo: text, lines and pixels on white, saved as PNG or SVG; sizes in
// pixels. Internal to pictures and plots.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cairo.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/picture/colour_map.hpp"

namespace tofstream::detail {

enum class Align { left, centre, right };

struct TextStyle {
  double size = 14;
  bool bold = false;
  Colour colour{0.13, 0.13, 0.15};
  Align align = Align::left;
  bool middle = false;   // y is the middle of the letters, not their baseline
  bool upright = false;  // written upwards, turned by 90 degrees
  bool halo = false;     // a soft outline in the opposite shade, for text over an image
};

class Canvas {
 public:
  /// Takes a picture's bytes as they are made.
  using Write = std::function<void(std::span<const std::byte>)>;

  /// A white canvas; finish() gives it to `write` as SVG or PNG. Throws std::runtime_error when cairo refuses.
  Canvas(Write write, bool svg, int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  cairo_t* cairo() { return context_.get(); }

  void set_colour(const Colour& colour, double alpha = 1);
  void text(double x, double y, const std::string& words, const TextStyle& style);
  double text_width(const std::string& words, const TextStyle& style);
  void line(double x1, double y1, double x2, double y2, const Colour& colour, double width = 1);
  void frame(double x, double y, double width, double height, const Colour& colour);
  /// Copies width x height pixels (0xRRGGBB) to (x, y), which are whole numbers.
  void pixels(double x, double y, int width, int height, std::vector<std::uint32_t> rgb);

  /// Throws what `write` throws, and std::runtime_error when cairo fails.
  void finish();

 private:
  struct Destroy {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  void check(cairo_status_t status) const;
  void select_font(const TextStyle& style);

  static cairo_status_t write(void* canvas, const unsigned char* bytes, unsigned count);

  Write write_;
  std::exception_ptr write_error_;
  bool svg_;
  int width_, height_;
  std::unique_ptr<cairo_surface_t, Destroy> surface_;
  std::unique_ptr<cairo_t, Destroy> context_;
};

/// Writes to a file, which must outlive the canvas.
Canvas::Write write_to(AtomicFile& file);
/// Appends to a string, which must outlive the canvas.
Canvas::Write append_to(std::string& bytes);

/// True for .svg, false for .png. Throws std::invalid_argument for another suffix.
bool is_svg(const std::filesystem::path& path);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
