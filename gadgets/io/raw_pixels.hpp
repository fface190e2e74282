// Pixels as files hold them: integers and floats of any width and byte order.
#pragma once

#include <cstddef>
#include <span>

namespace tofstream::formats {

struct RawPixels {
  enum class Kind { unsigned_integer, signed_integer, real };
  Kind kind = Kind::real;
  int bytes = 4;  // of a pixel: 1, 2, 4 or 8; of a real number 4 or 8
  bool is_big_endian = false;

  bool is_known() const;
};

/// The pixels as floats. Throws std::logic_error where the format is not known or the sizes disagree.
void decode_pixels(const RawPixels& format, std::span<const std::byte> from, std::span<float> to);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
