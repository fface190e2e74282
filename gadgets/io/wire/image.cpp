// Images to and from bytes: see image.hpp.
#include "gadgets/io/wire/image.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/endian/buffers.hpp>
#include <fmt/format.h>

#include "gadgets/io/image_words.hpp"
#include "gadgets/io/wire/checksum.hpp"

namespace tofstream::wire {
namespace {

namespace endian = boost::endian;

static_assert(std::endian::native == std::endian::little, "voxels are copied as they lie");

constexpr std::uint32_t flag_final = 1, flag_quantitative = 2;
constexpr std::uint32_t voxels_are_float32 = 1;

// The header as it lies on the wire, without padding.
struct ImageHeaderBytes {
  std::array<char, image_magic.size()> magic;
  endian::little_uint16_buf_t version, header_size;
  endian::little_uint32_buf_t checksum;  // over all bytes of the message but these four
  endian::little_uint32_buf_t flags;
  endian::little_uint64_buf_t run, update;
  endian::little_uint32_buf_t iteration, subset;
  endian::little_uint64_buf_t first_event, end_event, made_ns;
  std::array<endian::little_uint32_buf_t, 3> size;
  std::array<endian::little_uint32_buf_t, 3> voxel_mm, origin_mm;  // bits of a float32
  std::array<char, longest_image_unit> unit;                       // filled up with zeros
  endian::little_uint32_buf_t voxel_type;
  endian::little_uint64_buf_t payload_size;
};
static_assert(sizeof(ImageHeaderBytes) == image_header_bytes);

constexpr std::size_t image_checksum_at = offsetof(ImageHeaderBytes, checksum);

Vec3 vector_of(const std::array<endian::little_uint32_buf_t, 3>& bits) {
  return {std::bit_cast<float>(bits[0].value()), std::bit_cast<float>(bits[1].value()),
          std::bit_cast<float>(bits[2].value())};
}

ImageHeader image_header_of(const ImageHeaderBytes& raw) {
  ImageHeader header{.is_final = (raw.flags.value() & flag_final) != 0,
                     .run = raw.run.value(),
                     .update = raw.update.value(),
                     .iteration = raw.iteration.value(),
                     .subset = raw.subset.value(),
                     .first_event = raw.first_event.value(),
                     .end_event = raw.end_event.value(),
                     .made_ns = raw.made_ns.value(),
                     .grid = {},
                     .unit = {raw.unit.begin(), std::ranges::find(raw.unit, '\0')},
                     .is_quantitative = (raw.flags.value() & flag_quantitative) != 0};
  for (std::size_t axis = 0; axis < 3; ++axis) header.grid.size[axis] = static_cast<int>(raw.size[axis].value());
  header.grid.voxel_mm = vector_of(raw.voxel_mm);
  header.grid.origin_mm = vector_of(raw.origin_mm);
  return header;
}

std::string words_of(const ImageHeader& header) {
  return image_words_text(header.not_quantitative_because, header.filtered);
}

std::size_t voxels_at(const ImageHeader& header) {
  return image_header_bytes + image_words_bytes(words_of(header));
}

BadImage bad(std::string what) {
  return {std::move(what)};
}

}  // namespace

std::size_t image_message_bytes(const ImageHeader& header) {
  return voxels_at(header) + sizeof(float) * static_cast<std::size_t>(header.grid.voxels());
}

Image ReceivedImage::image() const {
  Image made = Image::zeros(header.grid);
  std::memcpy(made.voxels.data(), voxels.data(), voxels.size());
  return made;
}

std::variant<ReceivedImage, BadImage> decode_image(std::span<const std::byte> bytes) {
  if (bytes.size() < image_header_bytes)
    return bad(fmt::format("a message of {} bytes is no image, whose header alone has {}: fix the sender", bytes.size(),
                           image_header_bytes));
  ImageHeaderBytes raw;
  std::memcpy(&raw, bytes.data(), image_header_bytes);
  if (!std::ranges::equal(raw.magic, image_magic))
    return bad(fmt::format("the message does not begin with '{}': what sends it sends no images", image_magic));
  if (raw.version.value() != image_version)
    return bad(fmt::format("an image of version {}, but only version {} is known: use one release at both ends",
                           raw.version.value(), image_version));
  const std::size_t begin = raw.header_size.value();
  if (begin < image_header_bytes || begin > bytes.size() || raw.payload_size.value() != bytes.size() - begin)
    return bad("the image's sizes and its length disagree: send whole images, one a message");
  if (crc32c_around(bytes, image_checksum_at) != raw.checksum.value())
    return bad("the image's checksum is wrong: it was damaged on its way, or the sender reckons differently");
  if (raw.voxel_type.value() != voxels_are_float32 || (raw.flags.value() & ~(flag_final | flag_quantitative)) != 0)
    return bad("an image of an unknown kind of voxels, or with unknown flags: use one release at both ends");
  ImageHeader header = image_header_of(raw);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  ImageWords words = read_image_words({text + image_header_bytes, begin - image_header_bytes});
  header.not_quantitative_because = std::move(words.not_quantitative_because);
  header.filtered = std::move(words.filtered);
  try {
    validate(header.grid);
  } catch (const std::invalid_argument& wrong) {
    return bad(fmt::format("the image's grid: {}: fix the sender", wrong.what()));
  }
  const auto voxels = bytes.subspan(begin);
  if (voxels.size() != sizeof(float) * static_cast<std::size_t>(header.grid.voxels()))
    return bad("the image's grid and its length disagree: fix the sender");
  return ReceivedImage{header, voxels};
}

std::vector<std::byte> encode_image(const ImageHeader& header, std::span<const float> voxels) {
  validate(header.grid);
  if (voxels.size() != static_cast<std::size_t>(header.grid.voxels()))
    throw std::invalid_argument("an image of another number of voxels than its grid has");
  if (header.unit.size() > longest_image_unit)
    throw std::invalid_argument(
        fmt::format("unit '{}' is longer than {} bytes: abbreviate it", header.unit, longest_image_unit));
  ImageHeaderBytes raw{};
  std::ranges::copy(image_magic, raw.magic.begin());
  raw.version = image_version;
  raw.header_size = static_cast<std::uint16_t>(voxels_at(header));
  raw.flags = (header.is_final ? flag_final : 0) | (header.is_quantitative ? flag_quantitative : 0);
  raw.run = header.run;
  raw.update = header.update;
  raw.iteration = header.iteration;
  raw.subset = header.subset;
  raw.first_event = header.first_event;
  raw.end_event = header.end_event;
  raw.made_ns = header.made_ns;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    raw.size[axis] = static_cast<std::uint32_t>(header.grid.size[axis]);
    raw.voxel_mm[axis] = std::bit_cast<std::uint32_t>(header.grid.voxel_mm[static_cast<int>(axis)]);
    raw.origin_mm[axis] = std::bit_cast<std::uint32_t>(header.grid.origin_mm[static_cast<int>(axis)]);
  }
  std::ranges::copy(header.unit, raw.unit.begin());
  raw.voxel_type = voxels_are_float32;
  raw.payload_size = voxels.size_bytes();
  std::vector<std::byte> message(image_message_bytes(header));
  const std::string words = words_of(header);
  std::memcpy(message.data() + image_header_bytes, words.data(), words.size());
  std::memcpy(message.data() + voxels_at(header), voxels.data(), voxels.size_bytes());
  std::memcpy(message.data(), &raw, image_header_bytes);
  raw.checksum = crc32c_around(message, image_checksum_at);
  std::memcpy(message.data(), &raw, image_header_bytes);
  return message;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
