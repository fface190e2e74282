// Decodes pixels of any format: see raw_pixels.hpp.
#include "gadgets/io/raw_pixels.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace tofstream::formats {
namespace {

template <class T>
void decode_pixels_as(bool is_swapped, std::span<const std::byte> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::byte one[sizeof(T)];
    std::memcpy(one, from.data() + i * sizeof(T), sizeof(T));
    if (is_swapped) std::ranges::reverse(one);
    to[i] = static_cast<float>(std::bit_cast<T>(one));
  }
}

using DecodePixels = void (*)(bool is_swapped, std::span<const std::byte> from, std::span<float> to);

DecodePixels decoder_of(RawPixels::Kind kind, int bytes) {
  const auto of_width = [bytes](DecodePixels one, DecodePixels two, DecodePixels four, DecodePixels eight) {
    return bytes == 1 ? one : bytes == 2 ? two : bytes == 4 ? four : bytes == 8 ? eight : nullptr;
  };
  switch (kind) {
    case RawPixels::Kind::unsigned_integer:
      return of_width(decode_pixels_as<std::uint8_t>, decode_pixels_as<std::uint16_t>, decode_pixels_as<std::uint32_t>,
                      decode_pixels_as<std::uint64_t>);
    case RawPixels::Kind::signed_integer:
      return of_width(decode_pixels_as<std::int8_t>, decode_pixels_as<std::int16_t>, decode_pixels_as<std::int32_t>,
                      decode_pixels_as<std::int64_t>);
    case RawPixels::Kind::real:
      return of_width(nullptr, nullptr, decode_pixels_as<float>, decode_pixels_as<double>);
  }
  return nullptr;
}

}  // namespace

bool RawPixels::is_known() const {
  return decoder_of(kind, bytes) != nullptr;
}

void decode_pixels(const RawPixels& format, std::span<const std::byte> from, std::span<float> to) {
  const DecodePixels decode = decoder_of(format.kind, format.bytes);
  if (!decode || from.size() != to.size() * static_cast<std::size_t>(format.bytes))
    throw std::logic_error("pixels of an unknown format, or of another size");
  decode(format.is_big_endian != (std::endian::native == std::endian::big), from, to);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
