// Colour maps from a few control points each, interpolated linearly: see colour_map.hpp.
#include "gadgets/io/picture/colour_map.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

namespace tofstream {

namespace {

struct Point {
  double at;
  Colour colour;
};

constexpr Point inverted_grey_points[] = {{0, {1, 1, 1}}, {1, {0, 0, 0}}};
constexpr Point grey_points[] = {{0, {0, 0, 0}}, {1, {1, 1, 1}}};
constexpr Point hot_points[] = {{0, {0.02, 0, 0}}, {0.37, {1, 0, 0}}, {0.75, {1, 1, 0}}, {1, {1, 1, 1}}};
// Lightness (CIE L*) climbs in equal steps from 15 to 91 while the hue turns from violet to yellow.
constexpr Point viridis_points[] = {
    {0, {0.267, 0.005, 0.329}},     {0.125, {0.278, 0.176, 0.482}}, {0.25, {0.231, 0.320, 0.545}},
    {0.375, {0.173, 0.443, 0.557}}, {0.5, {0.129, 0.565, 0.551}},   {0.625, {0.153, 0.680, 0.507}},
    {0.75, {0.361, 0.784, 0.388}},  {0.875, {0.667, 0.863, 0.196}}, {1, {0.993, 0.906, 0.144}}};

std::span<const Point> points_of(ColourMap map) {
  switch (map) {
    case ColourMap::inverted_grey:
      return inverted_grey_points;
    case ColourMap::grey:
      return grey_points;
    case ColourMap::hot:
      return hot_points;
    case ColourMap::viridis:
      return viridis_points;
  }
  return grey_points;
}

}  // namespace

Colour colour(ColourMap map, double value) {
  const std::span<const Point> points = points_of(map);
  const double v = value > 0 ? std::min(value, 1.0) : 0.0;
  std::size_t right = 1;
  while (right + 1 < points.size() && points[right].at < v) ++right;
  const Point &a = points[right - 1], &b = points[right];
  const double t = (v - a.at) / (b.at - a.at);
  return {a.colour.red + t * (b.colour.red - a.colour.red), a.colour.green + t * (b.colour.green - a.colour.green),
          a.colour.blue + t * (b.colour.blue - a.colour.blue)};
}

ColourMap colour_map(std::string_view name) {
  if (name == "inverted_grey") return ColourMap::inverted_grey;
  if (name == "grey") return ColourMap::grey;
  if (name == "hot") return ColourMap::hot;
  if (name == "viridis") return ColourMap::viridis;
  throw std::invalid_argument("unknown colour map '" + std::string(name) +
                              "': it is one of inverted_grey, grey, hot, viridis");
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
