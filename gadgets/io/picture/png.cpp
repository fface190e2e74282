// PNG by libpng: see png.hpp.
#include "gadgets/io/picture/png.hpp"

#include <bit>
#include <csetjmp>
#include <memory>
#include <new>
#include <stdexcept>

#include <fmt/format.h>
#include <png.h>

namespace tofstream::detail {

namespace {

static_assert(std::endian::native == std::endian::little, "a pixel's bytes are blue, green, red and nothing");

/// What libpng's C code fills in; it fails by longjmp, which must not skip a destructor of ours.
struct Outcome {
  std::string bytes;
  std::string failure;
  bool out_of_memory = false;
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto& outcome = *static_cast<Outcome*>(png_get_error_ptr(png));
  try {
    outcome.failure = message;
  } catch (const std::bad_alloc&) {
    outcome.out_of_memory = true;
  }
  png_longjmp(png, 1);
}

void append(png_structp png, png_bytep data, std::size_t size) {
  auto& outcome = *static_cast<Outcome*>(png_get_io_ptr(png));
  try {
    outcome.bytes.append(reinterpret_cast<const char*>(data), size);
    return;
  } catch (const std::bad_alloc&) {
    outcome.out_of_memory = true;
  }
  png_error(png, "out of memory");
}

/// No variable here has a destructor. Differences of neighbours, deflated at level 2, are no larger than what cairo
/// makes with all filters and level 6.
bool encode(png_structp png, png_infop info, const unsigned char* pixels, int width, int height, int stride_bytes) {
  constexpr int bits = 8, level = 2;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, level);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_write_info(png, info);
  png_set_filler(png, 0, PNG_FILLER_AFTER);
  png_set_bgr(png);
  for (int row = 0; row < height; ++row) png_write_row(png, pixels + std::ptrdiff_t{row} * stride_bytes);
  png_write_end(png, info);
  return true;
}

struct Destroy {
  void operator()(png_struct* png) const { png_destroy_write_struct(&png, nullptr); }
};

}  // namespace

std::string png_of(const unsigned char* pixels, int width, int height, int stride_bytes) {
  Outcome outcome;
  const std::unique_ptr<png_struct, Destroy> png(
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &outcome, fail, [](png_structp, png_const_charp) {}));
  png_infop info = png ? png_create_info_struct(png.get()) : nullptr;
  if (!info) throw std::bad_alloc();
  png_set_write_fn(png.get(), &outcome, append, [](png_structp) {});
  const bool done = encode(png.get(), info, pixels, width, height, stride_bytes);
  png_destroy_info_struct(png.get(), &info);
  if (done) return std::move(outcome.bytes);
  if (outcome.out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("cannot write a PNG: {}", outcome.failure));
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
