// The words between the header and the voxels of an image's message, on the wire and to the live page: why the image is
// not quantitative, then, after a byte of zero, how a post-filter changed it. Zeros fill them up to 16 bytes, so that
// the voxels stay aligned. Who looks for the first of them alone reads up to the first zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace tofstream {

struct ImageWords {
  std::string not_quantitative_because;  // may be empty, as the other
  std::string filtered;
};

/// The text without its padding, each part cut at 4096 bytes.
inline std::string image_words_text(const std::string& not_quantitative_because, const std::string& filtered) {
  constexpr std::size_t longest = 4096;
  std::string text = not_quantitative_because.substr(0, longest);
  if (!filtered.empty()) text += '\0' + filtered.substr(0, longest);
  return text;
}

/// The bytes of a text with its padding.
inline std::size_t image_words_bytes(std::string_view text) {
  constexpr std::size_t alignment = 16;
  return (text.size() + alignment - 1) / alignment * alignment;
}

/// From the text with its padding.
inline ImageWords read_image_words(std::string_view padded) {
  const std::size_t end = std::min(padded.find('\0'), padded.size());
  const std::string_view rest = padded.substr(std::min(end + 1, padded.size()));
  return {std::string(padded.substr(0, end)), std::string(rest.substr(0, rest.find('\0')))};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
