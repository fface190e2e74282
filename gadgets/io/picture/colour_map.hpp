// Colour maps for images: inverted grey as nuclear medicine prints, hot, and a perceptually even
// dark-blue-to-yellow map in the manner of viridis.
#pragma once

#include <string_view>

namespace tofstream {

enum class ColourMap { inverted_grey, grey, hot, viridis };

/// Red, green and blue in [0, 1].
struct Colour {
  double red = 0, green = 0, blue = 0;
};

/// Colour of a value in [0, 1]; values outside, and NaN, take the nearest end (NaN the low one).
Colour colour(ColourMap map, double value);

/// The map with this name (`inverted_grey`, `grey`, `hot`, `viridis`). Throws std::invalid_argument, which lists the
/// names.
ColourMap colour_map(std::string_view name);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
