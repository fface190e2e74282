// Pixels as PNG by libpng, for speed: cairo's own writer takes six times as long for as many bytes.
#pragma once

#include <cstdint>
#include <string>

namespace tofstream::detail {

/// The bytes of a PNG of `height` rows of `width` pixels, each 0xRRGGBB in the order of the machine's bytes, rows
/// `stride_bytes` apart. Throws std::runtime_error when libpng refuses.
std::string png_of(const unsigned char* pixels, int width, int height, int stride_bytes);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
