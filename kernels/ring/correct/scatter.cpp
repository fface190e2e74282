// A coarse scatter estimate: see scatter.hpp.
#include "kernels/ring/correct/scatter.hpp"

#include <algorithm>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/ring/correct/scatter-inl.hpp"

namespace tofstream {

std::size_t validate_lattice(const ScatterEstimate& e) {
  std::size_t samples = 1;
  for (const int n : e.size) {
    if (n < 1 || n > 4096)
      throw std::invalid_argument(fmt::format("a scatter estimate of {} samples along an axis", n));
    samples *= static_cast<std::size_t>(n);
  }
  if (e.size[2] != e.size[3])
    throw std::invalid_argument(fmt::format(
        "a scatter estimate needs as many axial samples for one end of lines as for the other, not {} and {}",
        e.size[2], e.size[3]));
  for (const float spacing : {e.radial_mm, e.axial_mm, e.tof_mm})
    if (!(spacing > 0 && std::isfinite(spacing)))
      throw std::invalid_argument(fmt::format("the samples of a scatter estimate cannot be {} mm apart", spacing));
  return samples;
}

void validate(const ScatterEstimate& e) {
  const std::size_t samples = validate_lattice(e);
  if (e.values.size() != samples)
    throw std::invalid_argument(
        fmt::format("a scatter estimate of {} samples has {} values", samples, e.values.size()));
  for (const float value : e.values)
    if (!(value >= 0 && std::isfinite(value)))
      throw std::invalid_argument(fmt::format("a scatter estimate holds {}: counts are not negative", value));
}

Lor ScatterEstimate::line(const std::array<int, 5>& sample, float radius_mm) const {
  const auto offset = [&](std::size_t axis, float spacing) {
    return (static_cast<float>(sample[axis]) - 0.5f * static_cast<float>(size[axis] - 1)) * spacing;
  };
  const float s = offset(0, radial_mm),
              phi = static_cast<float>(sample[1]) * std::numbers::pi_v<float> / static_cast<float>(size[1]);
  const float c = std::cos(phi), n = std::sin(phi);
  const float half = std::sqrt(std::max(radius_mm * radius_mm - s * s, 0.0f));
  return {{s * c + half * n, s * n - half * c, offset(2, axial_mm)},
          {s * c - half * n, s * n + half * c, offset(3, axial_mm)},
          has_tof() ? offset(4, tof_mm) : 0.0f};
}

ScatterEstimate ScatterEstimate::without_tof() const {
  if (!has_tof()) return *this;
  ScatterEstimate result = *this;
  result.size[4] = 1;
  const std::size_t lines = values.size() / static_cast<std::size_t>(size[4]);
  result.values.assign(lines, 0.0f);
  for (std::size_t v = 0; v < values.size(); ++v) result.values[v % lines] += values[v] * tof_mm;
  return result;
}

float scatter_at(const ScatterEstimate& e, const SinogramPlace& place) {
  return scatter_at(scatter_view(e, e.values.data()), place);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
