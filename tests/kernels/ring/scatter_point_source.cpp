// Single scatter of a point source at the centre of a water sphere, of two detectors, by adaptive quadrature: each
// photon's partner is scattered on the line behind the source, so that one integral along it is all there is.
#include <array>
#include <cmath>
#include <functional>

#include "kernels/ring/scatter/single_scatter.hpp"
#include "tests/kernels/ring/scatter_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using tofstream::testing::image_of;

namespace {

struct Piece {
  double from, to, at_from, at_middle, at_to;
  double sum() const { return (to - from) / 6 * (at_from + 4 * at_middle + at_to); }
};

/// Simpson's rule, halved until both halves agree with the whole.
double adaptive_simpson(const std::function<double(double)>& f, const Piece& whole, double error, int deepest) {
  const double middle = 0.5 * (whole.from + whole.to);
  const Piece left{whole.from, middle, whole.at_from, f(0.5 * (whole.from + middle)), whole.at_middle},
      right{middle, whole.to, whole.at_middle, f(0.5 * (middle + whole.to)), whole.at_to};
  const double better = left.sum() + right.sum(), apart = better - whole.sum();
  if (deepest == 0 || std::abs(apart) < 15 * error) return better + apart / 15;
  return adaptive_simpson(f, left, error / 2, deepest - 1) + adaptive_simpson(f, right, error / 2, deepest - 1);
}

double integral(const std::function<double(double)>& f, double to, double error) {
  constexpr int deepest = 14;
  return adaptive_simpson(f, {0, to, f(0), f(0.5 * to), f(to)}, error, deepest);
}

constexpr double sphere_mm = 100, water_per_mm = 0.0096, ring_mm = 400;

/// The length of water along a direction, from a point within it.
double way_in_water(Vec3d from, Vec3d direction) {
  const double along = dot(from, direction);
  return -along + std::sqrt(along * along + sphere_mm * sphere_mm - dot(from, from));
}

double cosine_at(Vec3d detector, Vec3d direction) {
  return (detector.x * direction.x + detector.y * direction.y) / std::hypot(detector.x, detector.y);
}

/// The moments 0 to 2 of ToF, towards b, of what a decay a second in the middle gives to a pair, over the pair's
/// efficiency.
std::array<double, 3> moments_of_pair(Vec3d a, Vec3d b, const EnergyAcceptance& energy) {
  const double share = energy.share(electron_keV), total = klein_nishina_total(electron_keV);
  const double length = norm(b - a);
  const Vec3d along = (1 / length) * (b - a);
  const double own = cosine_at(a, -1.0 * along) * cosine_at(b, along) / (length * length);
  std::array<double, 3> moments{};
  for (const bool is_a : {true, false}) {
    const Vec3d to = is_a ? a : b, other = is_a ? b : a;
    const double distance = norm(to);
    const Vec3d direction = (1 / distance) * to;
    for (int moment = 0; moment < 3; ++moment) {
      const auto at = [&](double behind) {
        const Vec3d scatter = -behind * direction;
        const double far = norm(other - scatter);
        const Vec3d onwards = (1 / far) * (other - scatter);
        const double turned = -dot(direction, onwards), after = scattered_keV(turned);
        const double survives =
            std::exp(-water_per_mm * (way_in_water(scatter, direction) +
                                      klein_nishina_total(after) / total * way_in_water(scatter, onwards)));
        const double earlier = 0.5 * (distance - behind - far);
        return compton_share_of_water * water_per_mm * klein_nishina_per_sr(turned) / total * energy.share(after) /
               share * survives * cosine_at(to, direction) * cosine_at(other, onwards) /
               (distance * distance * far * far) / own * std::pow(is_a ? earlier : -earlier, moment);
      };
      constexpr double error = 1e-12, typical_mm = 10;  // the sums are of 1e-6 and more
      moments[static_cast<std::size_t>(moment)] += integral(at, sphere_mm, error * std::pow(typical_mm, moment));
    }
  }
  return moments;
}

}  // namespace

TEST_CASE("single scatter of a point source in the middle of a water sphere is that of an adaptive quadrature") {
  const ScatterDetectors detectors{
      .radius_mm = ring_mm,
      .energy = {.low_keV = 425, .high_keV = 650, .resolution = 0.12, .is_share_of_energy = false}};
  // Scatter points 6 mm apart see a source that is linear between voxels' centres, 7.9 mm apart.
  constexpr double source_mm = 7.9;
  constexpr float water_mm = 6, between = static_cast<float>(source_mm);
  const Image mu = image_of(Grid::centred(36, 36, 36, {water_mm, water_mm, water_mm}), [](Vec3d at) {
    constexpr int parts = 4;
    int inside = 0;
    for (int n = 0; n < parts * parts * parts; ++n) {
      const auto offset = [](int part) { return static_cast<double>(water_mm) * ((part + 0.5) / parts - 0.5); };
      inside += norm(at + Vec3d{offset(n % parts), offset(n / parts % parts), offset(n / parts / parts)}) <= sphere_mm;
    }
    return water_per_mm * inside / (parts * parts * parts);
  });
  const Image source = image_of(Grid::centred(3, 3, 3, {between, between, between}),
                                [](Vec3d at) { return norm(at) < 1 ? std::pow(source_mm, -3) : 0; });
  const SingleScatter scatter(mu, detectors, static_cast<double>(water_mm));
  // Lines 60 mm from the source, in five directions, at ends that are alike and unlike.
  ScatterSampling whole{.lattice = {{2, 5, 2, 2, 1}, 120, 100, 1, {}}}, by_tof = whole;
  constexpr int tofs = 25;
  constexpr float tof_mm = 10;
  by_tof.lattice.size[4] = tofs;
  by_tof.lattice.tof_mm = tof_mm;
  by_tof.tof_sigma_mm = 12;
  const ScatterEstimate lines = scatter.estimate(source, whole), spectra = scatter.estimate(source, by_tof);
  double total = 0, expected_total = 0;
  for (std::size_t line = 0; line < lines.values.size(); ++line) {
    const auto n = static_cast<int>(line);
    const Lor lor = lines.line({n % 2, n / 2 % 5, n / 10 % 2, n / 20, 0}, static_cast<float>(ring_mm));
    const auto moments = moments_of_pair(lor.end1.as<double>(), lor.end2.as<double>(), detectors.energy);
    total += static_cast<double>(lines.values[line]);
    expected_total += moments[0];
    double sum = 0, first = 0, second = 0;
    for (int t = 0; t < tofs; ++t) {
      const double tof = static_cast<double>(tof_mm) * (t - tofs / 2);
      const double value =
          static_cast<double>(tof_mm * spectra.values[line + lines.values.size() * static_cast<std::size_t>(t)]);
      sum += value;
      first += value * tof;
      second += value * tof * tof;
    }
    CAPTURE(line);
    // A tent over 2 h has a variance of h^2 / 6 along any line.
    const double mean = moments[1] / moments[0],
                 width = std::sqrt(moments[2] / moments[0] - mean * mean + by_tof.tof_sigma_mm * by_tof.tof_sigma_mm +
                                   source_mm * source_mm / 6);
    CHECK(lines.values[line] == approx(moments[0]).epsilon(5e-3));
    CHECK(sum == approx(moments[0]).epsilon(5e-3));
    CHECK(std::abs(first / sum - mean) < 0.01 * width);
    CHECK(std::sqrt(second / sum - first / sum * (first / sum)) == approx(width).epsilon(1e-2));
  }
  CHECK(total == approx(expected_total).epsilon(1e-3));
}
// SPDX-License-Identifier: Apache-2.0
