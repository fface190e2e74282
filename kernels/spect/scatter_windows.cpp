// Scatter from energy windows: see scatter_windows.hpp.
#include "kernels/spect/scatter_windows.hpp"

#include <cstddef>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

double width_keV(EnergyWindow window, const char* which) {
  const double width = static_cast<double>(window.high_keV) - static_cast<double>(window.low_keV);
  if (!(width > 0))
    throw std::invalid_argument(
        fmt::format("the {} energy window, {:g} to {:g} keV, has no width", which, window.low_keV, window.high_keV));
  return width;
}

double half_of_width(EnergyWindow photopeak, EnergyWindow beside, const char* which) {
  return 0.5 * width_keV(photopeak, "photopeak's") / width_keV(beside, which);
}

Grid plane_of_view(const int (&size)[3], Vec3 pixel_mm) {
  return Grid::centred(size[0], size[1], 1, {pixel_mm.x, pixel_mm.y, pixel_mm.x});
}

}  // namespace

ScatterWeights triple_window_weights(EnergyWindow photopeak, EnergyWindow lower, EnergyWindow upper) {
  return {half_of_width(photopeak, lower, "lower"), half_of_width(photopeak, upper, "upper")};
}

ScatterWeights triangle_weights(EnergyWindow photopeak, EnergyWindow lower) {
  return {half_of_width(photopeak, lower, "lower"), 0};
}

void estimate_scatter(ScatterWeights weights, std::span<const float> lower, std::span<const float> upper,
                      std::span<float> b) {
  if (lower.size() != b.size() || (upper.size() != b.size() && (!upper.empty() || weights.upper != 0)))
    throw std::invalid_argument("views of energy windows differ in size");
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(weights.lower * static_cast<double>(lower[i]) +
                              (upper.empty() ? 0 : weights.upper * static_cast<double>(upper[i])));
}

ViewSmoothing::ViewSmoothing(const int (&size)[3], Vec3 pixel_mm, double fwhm_mm)
    : ones_(Image::filled(plane_of_view(size, pixel_mm), 1)),
      gaussian_(ones_.grid, {static_cast<float>(fwhm_mm), static_cast<float>(fwhm_mm), 0}, Backend::cpu) {
  gaussian_.apply(ones_);
}

void ViewSmoothing::apply(std::span<float> view) {
  const auto ones = ones_.voxels.span();
  if (view.size() != ones.size()) throw std::invalid_argument("a view of another size cannot be smoothed");
  gaussian_.apply(view.data());
  for (std::size_t i = 0; i < view.size(); ++i) view[i] /= ones[i];
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
