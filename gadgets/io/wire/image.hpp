// Images, in which a reconstruction's estimates go over the wire: a header of 128 bytes, little-endian, words on why
// the image is not quantitative and how it was filtered (image_words.hpp), then one float32 a voxel.
// share/doc/images-on-the-wire.md has the format byte by byte. Pure functions over bytes; a damaged image is a result,
// no exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/types/grid.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::wire {

inline constexpr std::string_view image_magic = "TOFI";
inline constexpr std::uint16_t image_version = 2;
inline constexpr std::size_t image_header_bytes = 128;
/// The longest name of a unit, in bytes of UTF-8.
inline constexpr std::size_t longest_image_unit = 16;

struct ImageHeader {
  bool is_final = false;          // no other follows from this run
  std::uint64_t run = 0;          // drawn at random by the sender, anew for each run
  std::uint64_t update = 0;       // of the run, from 1
  std::uint32_t iteration = 0;    // from 1
  std::uint32_t subset = 0;       // from 1
  std::uint64_t first_event = 0;  // the image stems from the events first <= number < end of the stream
  std::uint64_t end_event = 0;
  std::uint64_t made_ns = 0;                  // the sender's clock, since 1970-01-01 UTC
  Grid grid;                                  // of voxels
  std::string unit;                           // of a voxel's value; empty where it is not known
  bool is_quantitative = false;               // the values are that unit's
  std::string not_quantitative_because = {};  // why not, in words; empty where nobody says
  std::string filtered = {};                  // "smoothed by 5 mm FWHM"; empty: as the update made it

  friend bool operator==(const ImageHeader&, const ImageHeader&) = default;
};

/// An image that is whole: its header, and its voxels where they lie, four bytes each, as float32 or not aligned.
struct ReceivedImage {
  ImageHeader header;
  std::span<const std::byte> voxels;

  /// A copy on the host.
  Image image() const;
};

/// Why bytes are no image, in one line: what is wrong, and what to do.
struct BadImage {
  std::string what;
};

/// Bytes of the message that encode_image makes.
std::size_t image_message_bytes(const ImageHeader& header);

/// Reads an image from all of the bytes; the voxels are not copied.
std::variant<ReceivedImage, BadImage> decode_image(std::span<const std::byte> bytes);

/// The message. Throws std::invalid_argument for a grid that validate() (kernels/types) refuses, voxels of another
/// number than the grid's, and a unit that is too long.
std::vector<std::byte> encode_image(const ImageHeader& header, std::span<const float> voxels);

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
