// Single scatter against closed forms, an integral of its own along emissions, and another program's Monte Carlo.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ring/scatter/single_scatter.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/scatter_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using tofstream::testing::MonteCarloCase, tofstream::testing::image_of, tofstream::testing::recorded_a_decay;

namespace {

constexpr double single_pi = std::numbers::pi;

/// A sphere of water about the middle with a source in it that is a smaller sphere, and a cylinder of detectors.
struct Sphere {
  static constexpr double radius_mm = 100, mu_per_mm = 0.0096, source_mm = 24, detectors_mm = 400;
  Vec3d middle{30, 10, -20};  // of the source
  ScatterDetectors detectors{
      .radius_mm = detectors_mm,
      .energy = {.low_keV = 425, .high_keV = 650, .resolution = 0.12, .is_share_of_energy = false}};

  double source(Vec3d at) const { return norm(at - middle) <= source_mm ? 1 : 0; }
  Image activity() const {
    return image_of(Grid::centred(40, 40, 40, {4, 4, 4}), [&](Vec3d at) { return source(at); });
  }
  /// Voxels at the edge have the share of water in them.
  static Image mu() {
    return image_of(Grid::centred(54, 54, 54, {4, 4, 4}), [](Vec3d at) {
      int inside = 0;
      constexpr int parts = 4;
      for (int n = 0; n < parts * parts * parts; ++n) {
        const auto offset = [](int part) { return 4 * ((part + 0.5) / parts - 0.5); };
        const Vec3d here = at + Vec3d{offset(n % parts), offset(n / parts % parts), offset(n / parts / parts)};
        inside += norm(here) <= radius_mm ? 1 : 0;
      }
      return mu_per_mm * inside / (parts * parts * parts);
    });
  }
  /// The length of water along a direction, from a point within it.
  static double way(Vec3d from, Vec3d direction) {
    const double along = dot(from, direction);
    return -along + std::sqrt(along * along + radius_mm * radius_mm - dot(from, from));
  }
  double cosine(Vec3d at, Vec3d direction) const {
    return (at.x * direction.x + at.y * direction.y) / std::hypot(at.x, at.y);
  }

  struct Sums {
    double all = 0, first = 0, second = 0;  // moments of ToF
  };
  /// What emissions at the source's points give to a pair: for each, scatter along the line through a detector and the
  /// point lies behind the point. Another order of integration than the estimate's.
  Sums along_emissions(Vec3d a, Vec3d b) const {
    Sums sums;
    const double share = detectors.energy.share(electron_keV), total = klein_nishina_total(electron_keV);
    constexpr double edge = 4;
    const Grid grid = Grid::centred(40, 40, 40, {4, 4, 4});
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) {
          const Vec3d at = grid.centre(i, j, k).as<double>();
          if (source(at) == 0) continue;
          for (const bool is_a : {true, false}) {
            const Vec3d to = is_a ? a : b, other = is_a ? b : a;
            const double distance = norm(to - at);
            const Vec3d direction = (1 / distance) * (to - at);
            const double reach = way(at, -1.0 * direction);
            constexpr int steps = 60;
            for (int n = 0; n < steps; ++n) {
              const double behind = (n + 0.5) * reach / steps;
              const Vec3d scatter = at - behind * direction;
              const double far = norm(other - scatter);
              const Vec3d onwards = (1 / far) * (other - scatter);
              const double turned = -dot(direction, onwards), after = scattered_keV(turned);
              const double survives = std::exp(
                  -mu_per_mm * (way(scatter, direction) + klein_nishina_total(after) / total * way(scatter, onwards)));
              const double value = edge * edge * edge * reach / steps * compton_share_of_water * mu_per_mm *
                                   klein_nishina_per_sr(turned) / total * detectors.energy.share(after) / share *
                                   survives * cosine(to, direction) * cosine(other, onwards) /
                                   (distance * distance * far * far);
              const double earlier = 0.5 * (distance - behind - far), tof = is_a ? earlier : -earlier;
              sums.all += value;
              sums.first += value * tof;
              sums.second += value * tof * tof;
            }
          }
        }
    const double length = norm(b - a);
    const Vec3d direction = (1 / length) * (b - a);
    const double own = cosine(a, -1.0 * direction) * cosine(b, direction) / (length * length);
    for (double* const sum : {&sums.all, &sums.first, &sums.second}) *sum /= own;
    return sums;
  }
};

std::size_t sample_of(const ScatterEstimate& e, int s, int p, int a, int b, int t) {
  return static_cast<std::size_t>(s + e.size[0] * (p + e.size[1] * (a + e.size[2] * (b + e.size[3] * t))));
}

std::string refusal_of_scatter(const Image& activity, const Image& mu, const ScatterDetectors& detectors,
                               double point_mm = 20) {
  try {
    const SingleScatter scatter(mu, detectors, point_mm);
    scatter.estimate(activity, {.lattice = {{3, 2, 2, 2, 1}, 50, 100, 1, {}}});
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Klein and Nishina's cross section sums up to its total, and to Thomson's for photons of no energy") {
  double sum = 0;
  constexpr int steps = 20000;
  for (int n = 0; n < steps; ++n) {
    const double cosine = -1 + (n + 0.5) * 2 / steps;
    sum += 2 * single_pi * klein_nishina_per_sr(cosine) * 2 / steps;
  }
  CHECK(sum == approx(klein_nishina_total(electron_keV)).epsilon(1e-7));
  CHECK(klein_nishina_total(1.0) == approx(8 * single_pi / 3).epsilon(5e-3));
  CHECK(scattered_keV(1) == approx(electron_keV));
  CHECK(scattered_keV(-1) == approx(electron_keV / 3));
  const EnergyAcceptance energy{.low_keV = 425, .high_keV = 650, .resolution = 0.1, .is_share_of_energy = false};
  CHECK(energy.share(425) == approx(0.5).epsilon(1e-6));
  CHECK(energy.share(electron_keV) > 0.999);
}

TEST_CASE("single scatter is the integral along emissions, in total and by ToF") {
  const Sphere sphere;
  const SingleScatter scatter(Sphere::mu(), sphere.detectors, 10);
  const Image activity = sphere.activity();
  ScatterSampling sampling;
  sampling.lattice = {{7, 3, 2, 2, 1}, 40, 120, 1, {}};
  const ScatterEstimate whole = scatter.estimate(activity, sampling);
  sampling.lattice.size[4] = 31;
  sampling.lattice.tof_mm = 20;
  sampling.tof_sigma_mm = 25;
  const ScatterEstimate by_tof = scatter.estimate(activity, sampling);
  double worst = 0, most = 0, apart = 0, total = 0, total_expected = 0;
  for (int b = 0; b < 2; ++b)
    for (int p = 0; p < 3; ++p)
      for (int s = 0; s < 7; ++s) {
        const Lor lor = whole.line({s, p, 0, b, 0}, static_cast<float>(Sphere::detectors_mm));
        const Sphere::Sums expected = sphere.along_emissions(lor.end1.as<double>(), lor.end2.as<double>());
        const double value = static_cast<double>(whole.values[sample_of(whole, s, p, 0, b, 0)]);
        most = std::max(most, expected.all);
        worst = std::max(worst, std::abs(value - expected.all));
        total += value;
        total_expected += expected.all;
        double sum = 0, first = 0, second = 0;
        for (int t = 0; t < 31; ++t) {
          const double tof = (t - 15) * 20.0;
          const double here = 20 * static_cast<double>(by_tof.values[sample_of(by_tof, s, p, 0, b, t)]);
          sum += here;
          first += here * tof;
          second += here * tof * tof;
        }
        CHECK(sum == approx(value).epsilon(2e-3));
        apart = std::max(apart, std::abs(sum - value));
        const double mean = expected.first / expected.all;
        CHECK(first / sum == approx(mean).epsilon(1e-2).scale(20));
        const double width = std::sqrt(expected.second / expected.all - mean * mean + 25 * 25);
        CHECK(std::sqrt(second / sum - first / sum * (first / sum)) == approx(width).epsilon(1.5e-2));
      }
  // Legs are sampled at other steps with ToF than without: lines with little scatter may differ by more of their own.
  CHECK(apart < 1e-3 * most);
  // The voxels of 8 mm spread the source; scatter points 10 mm apart sample the cone behind it.
  CHECK(total == approx(total_expected).epsilon(7e-3));
  CHECK(worst < 1.2e-2 * most);
}

TEST_CASE("single scatter on a GPU is that of the CPU, with and without ToF") {
  if (!gpu_or_skip()) return;
  const Sphere sphere;
  const SingleScatter scatter(Sphere::mu(), sphere.detectors, 10);
  const Image activity = sphere.activity();
  ScatterSampling whole{.lattice = {{7, 3, 4, 4, 1}, 40, 120, 1, {}}};
  ScatterSampling by_tof{.lattice = {{7, 3, 4, 4, 31}, 40, 120, 20, {}}, .tof_sigma_mm = 25};
  for (const ScatterSampling& sampling : {whole, by_tof}) {
    CAPTURE(sampling.lattice.size[4]);
    const ScatterEstimate expected = scatter.estimate(activity, sampling);
    std::int64_t done = -1;
    const ScatterEstimate found =
        scatter.estimate(activity, sampling, Backend::cuda, [&](std::int64_t points) { done = points; });
    CHECK(testing::rms_of_range(found.values, expected.values) < 1e-5);
    CHECK(testing::same_bits(scatter.estimate(activity, sampling, Backend::cuda).values, found.values));
    CHECK(done >= 0);
  }
}

namespace {

/// Scatter without a symmetry of its own: a source off the middle of a water sphere, with voxels of 8 mm times `scale`.
struct ScaledSphere {
  explicit ScaledSphere(double factor = 1) : scale(factor), detectors(Sphere().detectors) {
    detectors.radius_mm *= scale;
    sampling.lattice = {{5, 4, 3, 3, 13}, length(50), length(100), length(30), {}};
    sampling.tof_sigma_mm = scale * 30;
  }
  float length(double mm) const { return static_cast<float>(scale * mm); }
  Image of(int voxels, auto&& value) const {
    return image_of(Grid::centred(voxels, voxels, voxels, {length(8), length(8), length(8)}),
                    [&](Vec3d at) { return value((1 / scale) * at); });
  }
  Image activity(auto&& keep) const {
    return of(20, [&](Vec3d at) { return keep(at) ? Sphere().source(at) : 0; });
  }
  Image activity() const {
    return activity([](Vec3d) { return true; });
  }
  ScatterEstimate scatter_of(const Image& activity) const {
    const Image mu = of(28, [&](Vec3d at) { return norm(at) <= Sphere::radius_mm ? Sphere::mu_per_mm / scale : 0; });
    constexpr double point_mm = 20, least_mu_per_mm = 0.002;
    return SingleScatter(mu, detectors, scale * point_mm, least_mu_per_mm / scale).estimate(activity, sampling);
  }

  double scale;
  ScatterDetectors detectors;
  ScatterSampling sampling;
};

/// Each voxel goes to the place that `to` says.
Image moved(const Image& image, auto&& to) {
  Image made = Image::zeros(image.grid);
  const int n = image.grid.size[0];
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const auto [x, y] = to(n, i, j);
        made.voxels[image.grid.index(x, y, k)] = image.voxels[image.grid.index(i, j, k)];
      }
  return made;
}

/// Calls check(s, p, a, b, t) for every sample.
void for_each_sample(const ScatterEstimate& e, auto&& check) {
  for (int t = 0; t < e.size[4]; ++t)
    for (int b = 0; b < e.size[3]; ++b)
      for (int a = 0; a < e.size[2]; ++a)
        for (int p = 0; p < e.size[1]; ++p)
          for (int s = 0; s < e.size[0]; ++s) check(s, p, a, b, t);
}

constexpr double to_rounding = 1e-5;

}  // namespace

TEST_CASE("single scatter grows with the activity, and that of two sources is the sum of each one's") {
  const ScaledSphere sphere;
  const Image activity = sphere.activity();
  const ScatterEstimate once = sphere.scatter_of(activity);
  Image threefold = activity;
  for (float& value : threefold.voxels.span()) value *= 3;
  const ScatterEstimate thrice = sphere.scatter_of(threefold);
  const auto is_low = [](Vec3d at) { return at.z < -20; };
  const ScatterEstimate low = sphere.scatter_of(sphere.activity(is_low)),
                        high = sphere.scatter_of(sphere.activity([&](Vec3d at) { return !is_low(at); }));
  const double most = static_cast<double>(std::ranges::max(once.values));
  for (std::size_t v = 0; v < once.values.size(); ++v) {
    const double value = static_cast<double>(once.values[v]);
    CHECK(thrice.values[v] == approx(3 * value).epsilon(to_rounding).scale(1e-3 * most));
    CHECK(low.values[v] + high.values[v] == approx(value).epsilon(to_rounding).scale(1e-3 * most));
  }
}

TEST_CASE(
    "single scatter of all lengths doubled, in matter half as dense, is doubled: of eight times the volume and "
    "decays") {
  // By lengths: dV mu p is mm^2, the solid angles over the pair's own 1/mm^2, and the integral along the leg a mm.
  const ScaledSphere sphere, larger(2);
  const ScatterEstimate here = sphere.scatter_of(sphere.activity()), there = larger.scatter_of(larger.activity());
  const double most = static_cast<double>(std::ranges::max(here.values));
  for (std::size_t v = 0; v < here.values.size(); ++v)  // per mm of ToF, of which there are twice as many
    CHECK(there.values[v] == approx(static_cast<double>(here.values[v])).epsilon(to_rounding).scale(1e-3 * most));
}

TEST_CASE("single scatter turns with all that it is of, and does not tell which detector comes first") {
  const ScaledSphere sphere;
  const Image activity = sphere.activity();
  const ScatterEstimate here = sphere.scatter_of(activity);
  const ScatterEstimate quarter =
      sphere.scatter_of(moved(activity, [](int n, int i, int j) { return std::pair(n - 1 - j, i); }));
  // After half a turn each line lies where its detectors are exchanged: ToF is counted towards the other one.
  const ScatterEstimate half =
      sphere.scatter_of(moved(activity, [](int n, int i, int j) { return std::pair(n - 1 - i, n - 1 - j); }));
  const int radial = here.size[0], tofs = here.size[4], angles = here.size[1];
  const double tiny = 1e-3 * static_cast<double>(std::ranges::max(here.values));
  for_each_sample(here, [&](int s, int p, int a, int b, int t) {
    const double value = static_cast<double>(here.values[sample_of(here, s, p, a, b, t)]);
    CHECK(half.values[sample_of(half, radial - 1 - s, p, b, a, tofs - 1 - t)] ==
          approx(value).epsilon(to_rounding).scale(tiny));
    if (p + angles / 2 < angles)
      CHECK(quarter.values[sample_of(quarter, s, p + angles / 2, a, b, t)] ==
            approx(value).epsilon(to_rounding).scale(tiny));
  });
}

TEST_CASE("single scatter is a Monte Carlo program's, absolute and by distance from the axis") {
  // The coincidences of 3155254978 decays with one scatter, by |s| in steps of 10 mm; those of 160 mm and more are of
  // the tail of the energy's resolution.
  constexpr double decays = MonteCarloCase::decays;
  const std::vector<double> counted = {3250779, 3212604, 3138011, 3007877, 2825714, 2592665, 2326060, 2051853,
                                       1763954, 1467490, 1178528, 898101,  638897,  414587,  239306,  119147};
  constexpr double all_counted = 29197614;
  const MonteCarloCase here_and_there;
  ScatterSampling sampling;
  sampling.lattice = {{25, 12, 5, 5, 1}, 20, 2 * MonteCarloCase::half / 4, 1, {}};
  const ScatterEstimate estimate =
      SingleScatter(here_and_there.mu, here_and_there.detectors).estimate(here_and_there.activity, sampling);
  const std::vector<double> by_distance = recorded_a_decay(estimate, 24);
  const double total = std::accumulate(by_distance.begin(), by_distance.end(), 0.0);
  CHECK(total == approx(all_counted / decays).epsilon(0.02));
  for (std::size_t bin = 0; bin < 15; ++bin) {
    CAPTURE(bin);
    const double tolerance = bin < 13 ? 0.04 : bin < 14 ? 0.07 : 0.12;  // more and more is of the tail
    CHECK(by_distance[bin] == approx(counted[bin] / decays).epsilon(tolerance));
  }
}

TEST_CASE("the ToF of single scatter is a Monte Carlo program's") {
  const MonteCarloCase here_and_there;
  ScatterSampling sampling;
  sampling.lattice = {{13, 24, 3, 3, 45}, 20, 120, 10, {}};
  sampling.tof_sigma_mm = 10;
  const ScatterEstimate estimate =
      SingleScatter(here_and_there.mu, here_and_there.detectors).estimate(here_and_there.activity, sampling);
  const auto mean_mm = [&](int s, int p) {
    double sum = 0, first = 0;
    for (int t = 0; t < 45; ++t) {
      const double value = static_cast<double>(estimate.values[sample_of(estimate, s, p, 1, 1, t)]);
      sum += value;
      first += value * (t - 22) * 10;
    }
    return first / sum;
  };
  // Means over lines whose direction is within 7.5 degrees of 7.5: their ToF is counted against ours; and of 97.5
  // degrees, where s is. In all of them one of 40 mm wide bins about s.
  CHECK(-mean_mm(5, 13) == approx(40.42).epsilon(0.03));   // -20 mm
  CHECK(-mean_mm(7, 13) == approx(40.48).epsilon(0.03));   // 20 mm
  CHECK(-mean_mm(11, 13) == approx(39.75).epsilon(0.05));  // 100 mm
  CHECK(mean_mm(6 + 3, 1) == approx(-5.27).epsilon(0.2));  // -60 mm
  CHECK(mean_mm(6 - 1, 1) == approx(-5.31).epsilon(0.2));  // 20 mm
}

TEST_CASE("what scatter cannot be of is refused in one line") {
  const Sphere sphere;
  const Image activity = sphere.activity(), mu = Sphere::mu();
  Image hounsfield = mu, per_mm = mu, negative = activity;
  for (float& value : hounsfield.voxels.span()) value = value > 0 ? 4.0f : 0.0f;
  for (float& value : per_mm.voxels.span()) value *= 0.05f;
  negative.voxels[5] = -1;
  CHECK(refusal_of_scatter(activity, hounsfield, sphere.detectors).find("Hounsfield") != std::string::npos);
  CHECK(refusal_of_scatter(activity, per_mm, sphere.detectors).find("per mm") != std::string::npos);
  CHECK(refusal_of_scatter(negative, mu, sphere.detectors).find("the image holds -1") != std::string::npos);
  ScatterDetectors wrong = sphere.detectors;
  wrong.energy.low_keV = 520;
  CHECK(refusal_of_scatter(activity, mu, wrong).find("does not hold 511 keV") != std::string::npos);
  wrong = sphere.detectors;
  wrong.energy.resolution = 12;
  CHECK(refusal_of_scatter(activity, mu, wrong).find("share of 511 keV") != std::string::npos);
  wrong = sphere.detectors;
  wrong.radius_mm = 90;
  CHECK(refusal_of_scatter(activity, mu, wrong).find("is it of this scanner") != std::string::npos);
  CHECK(refusal_of_scatter(activity, mu, sphere.detectors, 0).find("scatter points 0 mm apart") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
