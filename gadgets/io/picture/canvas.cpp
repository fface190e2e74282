// A drawing surface over cairo: see canvas.hpp.
#include "gadgets/io/picture/canvas.hpp"

#include <stdexcept>
#include <utility>

#include <cairo-svg.h>
#include <fmt/format.h>

#include "gadgets/io/picture/png.hpp"

namespace tofstream::detail {

Canvas::Canvas(Write write, bool svg, int width, int height)
    : write_(std::move(write)), svg_(svg), width_(width), height_(height) {
  surface_.reset(svg ? cairo_svg_surface_create_for_stream(&Canvas::write, this, width, height)
                     : cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  check(cairo_surface_status(surface_.get()));
  context_.reset(cairo_create(surface_.get()));
  check(cairo_status(context_.get()));
  cairo_set_source_rgb(cairo(), 1, 1, 1);
  cairo_paint(cairo());
  cairo_set_line_join(cairo(), CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cairo(), CAIRO_LINE_CAP_ROUND);
}

// An exception cannot pass through cairo's C code, so the canvas keeps it.
cairo_status_t Canvas::write(void* canvas, const unsigned char* bytes, unsigned count) {
  auto& self = *static_cast<Canvas*>(canvas);
  try {
    self.write_(std::as_bytes(std::span(bytes, count)));
    return CAIRO_STATUS_SUCCESS;
  } catch (...) {
    if (!self.write_error_) self.write_error_ = std::current_exception();
    return CAIRO_STATUS_WRITE_ERROR;
  }
}

void Canvas::check(cairo_status_t status) const {
  if (write_error_) std::rethrow_exception(write_error_);
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("cannot draw a picture: {}", cairo_status_to_string(status)));
}

void Canvas::set_colour(const Colour& colour, double alpha) {
  cairo_set_source_rgba(cairo(), colour.red, colour.green, colour.blue, alpha);
}

void Canvas::select_font(const TextStyle& style) {
  cairo_select_font_face(cairo(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo(), style.size);
}

double Canvas::text_width(const std::string& words, const TextStyle& style) {
  select_font(style);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo(), words.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(double x, double y, const std::string& words, const TextStyle& style) {
  const double width = text_width(words, style);
  const double shift = style.align == Align::left ? 0 : (style.align == Align::centre ? 0.5 : 1.0);
  constexpr double capital_height = 0.73;  // of DejaVu Sans, in units of its size
  cairo_save(cairo());
  cairo_translate(cairo(), x, y);
  if (style.upright) cairo_rotate(cairo(), -1.5707963267948966);
  cairo_move_to(cairo(), -shift * width, style.middle ? 0.5 * capital_height * style.size : 0);
  if (style.halo) {
    const double shade = style.colour.green > 0.5 ? 0.0 : 1.0;
    cairo_text_path(cairo(), words.c_str());
    set_colour({shade, shade, shade}, 0.6);
    cairo_set_line_width(cairo(), 3);
    cairo_stroke_preserve(cairo());
    set_colour(style.colour);
    cairo_fill(cairo());
  } else {
    set_colour(style.colour);
    cairo_show_text(cairo(), words.c_str());
  }
  cairo_restore(cairo());
  cairo_new_path(cairo());
}

void Canvas::line(double x1, double y1, double x2, double y2, const Colour& colour, double width) {
  set_colour(colour);
  cairo_set_line_width(cairo(), width);
  cairo_move_to(cairo(), x1, y1);
  cairo_line_to(cairo(), x2, y2);
  cairo_stroke(cairo());
}

void Canvas::frame(double x, double y, double width, double height, const Colour& colour) {
  set_colour(colour);
  cairo_set_line_width(cairo(), 1);
  cairo_rectangle(cairo(), x - 0.5, y - 0.5, width + 1, height + 1);
  cairo_stroke(cairo());
}

void Canvas::pixels(double x, double y, int width, int height, std::vector<std::uint32_t> rgb) {
  const std::unique_ptr<cairo_surface_t, Destroy> image(cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(rgb.data()), CAIRO_FORMAT_RGB24, width, height, width * 4));
  check(cairo_surface_status(image.get()));
  cairo_set_source_surface(cairo(), image.get(), x, y);
  cairo_pattern_set_filter(cairo_get_source(cairo()), CAIRO_FILTER_NEAREST);
  cairo_paint(cairo());
  cairo_set_source_rgb(cairo(), 0, 0, 0);  // releases the surface
  cairo_surface_finish(image.get());
}

void Canvas::finish() {
  check(cairo_status(context_.get()));
  if (svg_) {
    cairo_surface_finish(surface_.get());
    check(cairo_surface_status(surface_.get()));
  } else {
    cairo_surface_flush(surface_.get());
    const std::string bytes = png_of(cairo_image_surface_get_data(surface_.get()), width_, height_,
                                     cairo_image_surface_get_stride(surface_.get()));
    write_(std::as_bytes(std::span(bytes)));
  }
}

Canvas::Write write_to(AtomicFile& file) {
  return [&file](std::span<const std::byte> bytes) { file.write(bytes); };
}

Canvas::Write append_to(std::string& bytes) {
  return [&bytes](std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  };
}

bool is_svg(const std::filesystem::path& path) {
  if (path.extension() == ".svg") return true;
  if (path.extension() == ".png") return false;
  throw std::invalid_argument(fmt::format("{}: the name of a picture ends in .png or .svg", path.string()));
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
