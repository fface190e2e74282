// Estimates as messages to the live page: see estimate_message.hpp.
#include "gadgets/io/page/estimate_message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <boost/endian/buffers.hpp>
#include <boost/endian/conversion.hpp>

#include "gadgets/io/image_words.hpp"
#include "kernels/analysis/block_means.hpp"

namespace tofstream::page {
namespace {

namespace endian = boost::endian;

constexpr std::uint8_t flag_final = 1;
constexpr std::size_t longest_unit = 16;
constexpr double largest_code = 65535;

// The header as it lies in the message, without padding.
struct HeaderBytes {
  std::array<char, estimate_magic.size()> magic;
  endian::little_uint8_buf_t version, flags;
  endian::little_uint16_buf_t header_size;
  endian::little_uint32_buf_t number, iteration, subset, shrink;
  std::array<endian::little_uint32_buf_t, 3> size;
  std::array<endian::little_uint32_buf_t, 3> voxel_mm, origin_mm;  // bits of a float32
  endian::little_uint32_buf_t scale, offset, seconds;              // bits of a float32
  endian::little_uint64_buf_t end_event;
  std::array<char, longest_unit> unit;  // filled up with zeros
};
static_assert(sizeof(HeaderBytes) == estimate_header_bytes);

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

struct Span {
  float least = 0, scale = 1;
};

// The span of the finite values, in steps of uint16.
Span span_of(std::span<const float> values) {
  float least = std::numeric_limits<float>::max(), most = std::numeric_limits<float>::lowest();
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (least > most) return {};
  const auto scale = static_cast<float>((double{most} - least) / largest_code);
  return {least, scale > 0 ? scale : 1};
}

std::uint16_t code_of(float value, const Span& span) {
  if (!std::isfinite(value)) return 0;
  return static_cast<std::uint16_t>(
      std::clamp(std::round((double{value} - span.least) / span.scale), 0.0, largest_code));
}

std::string words_of(const EstimateCaption& caption) {
  return image_words_text(caption.not_quantitative_because, caption.filtered);
}

/// Where the voxels begin.
std::size_t header_size(const EstimateCaption& caption) {
  return sizeof(HeaderBytes) + image_words_bytes(words_of(caption));
}

HeaderBytes header_of(const Grid& grid, int factor, const EstimateCaption& caption, const Span& span) {
  HeaderBytes header{};
  std::ranges::copy(estimate_magic, header.magic.begin());
  header.version = estimate_version;
  header.flags = caption.is_final ? flag_final : 0;
  header.header_size = static_cast<std::uint16_t>(header_size(caption));
  header.number = caption.number;
  header.iteration = caption.iteration;
  header.subset = caption.subset;
  header.shrink = static_cast<std::uint32_t>(factor);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    header.size[axis] = static_cast<std::uint32_t>(grid.size[axis]);
    header.voxel_mm[axis] = bits(grid.voxel_mm[static_cast<int>(axis)]);
    header.origin_mm[axis] = bits(grid.origin_mm[static_cast<int>(axis)]);
  }
  header.scale = bits(span.scale);
  header.offset = bits(span.least);
  header.seconds = bits(caption.seconds);
  header.end_event = caption.end_event;
  std::ranges::copy(std::string_view(caption.unit).substr(0, longest_unit), header.unit.begin());
  return header;
}

}  // namespace

std::string estimate_message(const Image& image, const EstimateCaption& caption, std::size_t most_voxels) {
  const int factor = shrink_factor(image.grid, most_voxels);
  if (factor > 1) {
    const Image small = block_means(image, factor);
    std::string message = estimate_message(small, caption, most_voxels);
    endian::store_little_u32(reinterpret_cast<unsigned char*>(message.data()) + offsetof(HeaderBytes, shrink),
                             static_cast<std::uint32_t>(factor));
    return message;
  }
  validate(image.grid);
  const std::span<const float> values = image.voxels.span();
  const Span span = span_of(values);
  const HeaderBytes header = header_of(image.grid, factor, caption, span);
  const std::size_t begin = header_size(caption);
  std::string message(begin + values.size() * sizeof(std::uint16_t), '\0');
  std::copy_n(reinterpret_cast<const char*>(&header), sizeof header, message.data());
  std::ranges::copy(words_of(caption), message.data() + sizeof header);
  auto* code = reinterpret_cast<unsigned char*>(message.data()) + begin;
  for (const float value : values) {
    endian::store_little_u16(code, code_of(value, span));
    code += sizeof(std::uint16_t);
  }
  return message;
}

}  // namespace tofstream::page
// SPDX-License-Identifier: Apache-2.0
