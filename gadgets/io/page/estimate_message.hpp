// An estimate as the live page receives it: a header of 96 bytes, little-endian, words on why it is not quantitative and
// how it was filtered (image_words.hpp), then one uint16 a voxel. share/doc/page.md has it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/types/image.hpp"

namespace tofstream::page {

inline constexpr std::string_view estimate_magic = "TOFE";
inline constexpr std::uint8_t estimate_version = 2;
inline constexpr std::size_t estimate_header_bytes = 96;

/// What is said of an estimate besides its voxels.
struct EstimateCaption {
  std::uint32_t number = 0;     // of the estimates that this monitor took, from 1
  std::uint32_t iteration = 0;  // from 1; 0: of a live scan, whose updates are counted instead
  std::uint32_t subset = 0;     // from 1
  bool is_final = false;
  float seconds = 0;                          // since the run began
  std::uint64_t end_event = 0;                // events of the stream that it stems from
  std::string unit = {};                      // of a value, cut at 16 bytes; empty where nobody says
  std::string not_quantitative_because = {};  // empty where it is, or nobody says
  std::string filtered = {};                  // "smoothed by 5 mm FWHM"; empty: as the update made it
};

/// The message, of at most `most_voxels` (at least 1): where the image has more, of its block means. Values are `offset
/// + scale * code` for the codes 0 to 65535, which span the image's finite values; one that is not finite gets code 0.
/// The image as for block_means (kernels/analysis).
std::string estimate_message(const Image& image, const EstimateCaption& caption, std::size_t most_voxels);

}  // namespace tofstream::page
// SPDX-License-Identifier: Apache-2.0
