// Interpolation in a coarse scatter estimate: see scatter.hpp.
#include "kernels/correct/scatter.hpp"

#include <algorithm>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {

namespace {

/// Two neighbouring samples and the share of the second.
struct Bracket {
  int first = 0, second = 0;
  float share = 0;
  Bracket reversed(int count) const { return {count - 1 - first, count - 1 - second, share}; }
};

/// Of a position in units of the spacing from the first sample, kept within the samples.
Bracket bracket(float position, int count) {
  const float inside = std::clamp(position, 0.0f, static_cast<float>(count - 1));
  const int first = std::min(static_cast<int>(inside), std::max(count - 2, 0));
  return {first, std::min(first + 1, count - 1), inside - static_cast<float>(first)};
}

Bracket centred(float value, float spacing, int count) {
  return bracket(value / spacing + 0.5f * static_cast<float>(count - 1), count);
}

/// Multilinear interpolation at one angle.
float at_angle(const ScatterEstimate& e, int angle, const Bracket& s, const Bracket& a, const Bracket& b,
               const Bracket& t) {
  const auto line = [&](int za, int zb, int tof) {
    const std::size_t row =
        (((static_cast<std::size_t>(tof) * static_cast<std::size_t>(e.size[3]) + static_cast<std::size_t>(zb)) *
              static_cast<std::size_t>(e.size[2]) +
          static_cast<std::size_t>(za)) *
             static_cast<std::size_t>(e.size[1]) +
         static_cast<std::size_t>(angle)) *
        static_cast<std::size_t>(e.size[0]);
    const float low = e.values[row + static_cast<std::size_t>(s.first)];
    return low + s.share * (e.values[row + static_cast<std::size_t>(s.second)] - low);
  };
  const auto plane = [&](int zb, int tof) {
    return std::lerp(line(a.first, zb, tof), line(a.second, zb, tof), a.share);
  };
  const auto volume = [&](int tof) { return std::lerp(plane(b.first, tof), plane(b.second, tof), b.share); };
  return std::lerp(volume(t.first), volume(t.second), t.share);
}

}  // namespace

void validate(const ScatterEstimate& e) {
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
  const float angle = place.phi / std::numbers::pi_v<float> * static_cast<float>(e.size[1]);
  const int first = std::clamp(static_cast<int>(angle), 0, e.size[1] - 1);
  const float share = std::clamp(angle - static_cast<float>(first), 0.0f, 1.0f);
  const Bracket s = centred(place.s, e.radial_mm, e.size[0]), t = centred(place.tof, e.tof_mm, e.size[4]);
  const Bracket a = centred(place.z_a, e.axial_mm, e.size[2]), b = centred(place.z_b, e.axial_mm, e.size[3]);
  const float here = at_angle(e, first, s, a, b, t);
  // At phi + pi the ends change places and s and ToF their sign.
  const float next = first + 1 < e.size[1] ? at_angle(e, first + 1, s, a, b, t)
                                           : at_angle(e, 0, s.reversed(e.size[0]), b, a, t.reversed(e.size[4]));
  return std::lerp(here, next, share);
}

}  // namespace tofstream
