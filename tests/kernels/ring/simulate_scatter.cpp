// Scattered pairs of the simulator against Klein and Nishina's formula, another program's Monte Carlo, and single
// scatter.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/ring/scatter/scatter_scanner.hpp"
#include "kernels/ring/scatter/scatter_tails.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "kernels/simulate/photon.hpp"
#include "kernels/simulate/random.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

Solid cylinder(const char* name, double x_mm, double radius_mm, double half_length_mm) {
  Solid solid(Shape::cylinder, {x_mm, 0, 0}, {radius_mm, radius_mm, half_length_mm});
  solid.name = name;
  return solid;
}

/// Water with a source off its axis: MCGPU-PET's case (GitHub DIDSR/MCGPU-PET, commit dc122b2), whose voxels have the
/// volumes of these cylinders.
Phantom off_axis(double activity_Bq_mL) {
  Solid water = cylinder("water", 0, 100.32, 100), source = cylinder("source", 40, 20.19, 100);
  water.mu_per_cm = 0.095953;
  source.activity_Bq_mL = activity_Bq_mL;
  return {"off_axis", {water, source}};
}

/// Hardly more than a surface, 400 mm from the axis and 240 mm long.
RingScanner shell() {
  RingScanner ring{.name = "shell", .inner_radius_mm = 400, .modules_transaxial = 240, .crystals_axial = 24};
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 10.47;
  ring.crystal_axial_mm = ring.pitch_axial_mm = 10;
  ring.module_pitch_axial_mm = 240;
  ring.layers = {{.depth_mm = 2, .attenuation_per_cm = 100}};
  return ring;
}

struct Forward {
  double most_per_mm() const { return 0.02; }
  double per_mm(Vec3d at) const { return norm(at) < 50 ? 0.01 : 0; }
  bool inside(Vec3d at) const { return norm(at) < 60; }
};

std::string refusal_of(const RingScanner& ring, const Phantom& phantom, const SimulationOptions& options) {
  try {
    const EventSimulator simulator(ring, phantom, options);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("scattered photons turn and lose energy as Klein and Nishina's formula has it") {
  RandomStream random(1, 0);
  constexpr int draws = 200000, bins = 10;
  std::array<int, bins> counted{};
  for (int n = 0; n < draws; ++n) {
    Photon photon{.at_mm = {}, .direction = turned({0.6, 0, 0.8}, 1, 0)};
    const Vec3d before = photon.direction;
    scatter(photon, random);
    const double cosine = dot(before, photon.direction);
    CHECK(photon.energy_keV == approx(scattered_keV(cosine)).epsilon(1e-6));
    ++counted[static_cast<std::size_t>(std::min(0.5 * (cosine + 1) * bins, bins - 1.0))];
  }
  double chi_square = 0;
  for (int b = 0; b < bins; ++b) {
    double expected = 0;
    constexpr int steps = 1000;
    for (int n = 0; n < steps; ++n) expected += klein_nishina_per_sr(-1 + 2.0 / bins * (b + (n + 0.5) / steps)) / steps;
    expected *= draws * 2 * 3.14159265358979 * 2 / bins / klein_nishina_total(electron_keV);
    const double off = counted[static_cast<std::size_t>(b)] - expected;
    chi_square += off * off / expected;
  }
  CHECK(chi_square < 30);  // of nine degrees of freedom: one in 2000
}

TEST_CASE("a direction is turned by its angle, along every axis") {
  for (const Vec3d direction :
       {Vec3d{1, 0, 0}, Vec3d{0, 1, 0}, Vec3d{0, 0, 1}, Vec3d{0, 0, -1}, Vec3d{0.48, 0.6, 0.64}})
    for (const double cosine : {-1.0, -0.3, 0.0, 0.999, 1.0}) {
      const Vec3d made = turned(direction, cosine, 1.3);
      CHECK(dot(direction, made) == approx(cosine).epsilon(1e-12).scale(1));
      CHECK(norm(made) == approx(1));
    }
}

TEST_CASE("photons leave matter of two densities by its attenuation, and keep their path") {
  RandomStream random(2, 0);
  constexpr int draws = 100000;
  int straight = 0;
  for (int n = 0; n < draws; ++n) {
    Photon photon{.at_mm = {10, 0, 0}, .direction = {1, 0, 0}};
    if (!leaves(photon, Forward{}, 0, random) || photon.scatters > 0) continue;
    ++straight;
    CHECK(photon.at_mm.x == approx(10 + photon.path_mm));
  }
  CHECK(static_cast<double>(straight) / draws == approx(std::exp(-0.4)).epsilon(0.01));
}

TEST_CASE("scattered coincidences are as many as in another program's Monte Carlo, a decay and by distance") {
  SimulationOptions options{.seed = 3, .scatter = true};
  options.acollinearity_fwhm_deg = 0.706;
  constexpr double decays = 4e6, volume_mL = 3.14159265358979 * 2.019 * 2.019 * 20;
  EventSimulator simulator(shell(), off_axis(decays / volume_mL), options);
  const SimulatedEvents made = simulator.next_seconds(1);
  CHECK(made.truth.decays == approx(decays).epsilon(1e-3));
  CHECK(simulator.expected_cps() == approx(static_cast<double>(made.events.count)).epsilon(0.05));
  constexpr double all = 3155254978;
  const auto in_decays = [&](double count) { return count / all * decays; };
  CHECK(static_cast<double>(made.truth.trues) == approx(in_decays(85760579)).epsilon(0.01));
  CHECK(std::abs(static_cast<double>(made.truth.scattered) / static_cast<double>(made.events.count) - 0.28503) < 0.01);
  const auto more = static_cast<double>(made.truth.scattered_more);
  CHECK(static_cast<double>(made.truth.scattered) - more == approx(in_decays(29197614)).epsilon(0.02));
  CHECK(more == approx(in_decays(4992029)).epsilon(0.04));

  // By |s| in steps of 30 mm, from the table in its description.
  constexpr std::array once{9601394.0, 8426256.0, 6141867.0, 3544119.0, 1292790.0};
  constexpr std::array often{1361596.0, 1233896.0, 999374.0, 704558.0, 416557.0};
  std::array<double, 5> counted_once{}, counted_often{};
  const EventView events = made.events.view();
  RandomStream random(5, 0);
  for (std::int64_t i = 0; i < events.count; ++i) {
    const int scatters = made.scatters[static_cast<std::size_t>(i)];
    // Detectors have a width, so that lines between their middles are 5.2 mm apart.
    const double s = static_cast<double>(sinogram_place(events.lor(i)).s) + 0.5 * 5.2 * random.symmetric();
    const auto bin = static_cast<std::size_t>(std::abs(s) / 30);
    if (scatters == 0 || bin >= once.size()) continue;
    ++(scatters == 1 ? counted_once : counted_often)[bin];
  }
  for (std::size_t b = 0; b < once.size(); ++b) {
    CHECK(counted_once[b] == approx(in_decays(once[b])).epsilon(0.04));
    CHECK(counted_often[b] == approx(in_decays(often[b])).epsilon(0.1));
  }
}

TEST_CASE(
    "what the simulator scatters once is what single scatter expects of its scanner's pairs, and beside the body") {
  RingScanner ring{.name = "few", .inner_radius_mm = 300, .modules_transaxial = 36, .crystals_transaxial = 2};
  ring.crystals_axial = 6;
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 26;
  ring.crystal_axial_mm = ring.pitch_axial_mm = ring.module_pitch_axial_mm = 30;
  ring.layers = {{.depth_mm = 15, .attenuation_per_cm = 0.83}};
  Solid water = cylinder("water", 20, 80, 70);
  water.mu_per_cm = 0.096;
  water.activity_Bq_mL = 1e3;
  const Phantom phantom("water", {water});
  EventSimulator simulator(ring, phantom, {.seed = 4, .randoms_cps = 20000, .scatter = true});
  constexpr double seconds = 2;
  SimulatedEvents made = simulator.next_seconds(seconds);
  const Scanner& scanner = *simulator.scanner();

  const ScatterScanner sees = scatter_scanner(scanner);
  CHECK(sees.tof_sigma_mm == 0);
  Image mu = phantom.mu_image(Grid::centred(50, 50, 40, {4, 4, 4}));
  for (float& value : mu.voxels.span()) value *= 0.1f;
  const SingleScatter scatter(mu, sees.detectors, 20);
  const ScatterEstimate estimate = scatter.estimate(
      phantom.activity_image(mu.grid), ScatterSampling::of(0.9 * sees.detectors.radius_mm, sees.half_length_mm, 0));
  double expected = 0;
  const auto detectors = static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t a = 0; a < detectors; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const Lor lor{scanner.detectors->position(a), scanner.detectors->position(b)};
      expected += seconds * static_cast<double>(scanner.efficiency(a, b) * scatter_at(estimate, sinogram_place(lor)));
    }
  const auto once = static_cast<double>(made.truth.scattered - made.truth.scattered_more);
  CHECK(once == approx(expected).epsilon(0.03));

  // The factor in the tails is known of the scattered events alone; trues and randoms about them do not change it.
  const auto fit_of = [&](const EventBatch& batch) {
    ScatterTails tails(mu);
    tails.add(batch);
    return tails.fit(estimate, 1);
  };
  const auto those = [&](auto&& keep) {
    EventBatch some = made.events.without_arrays();
    some.count = std::ranges::count_if(made.scatters, keep);
    some.detector1 = some.detector2 = Buffer<std::uint32_t>(Memory::host, some.count);
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < made.events.count; ++i) {
      if (!keep(made.scatters[static_cast<std::size_t>(i)])) continue;
      some.detector1[at] = made.events.detector1[i];
      some.detector2[at++] = made.events.detector2[i];
    }
    return some;
  };
  const TailFit single = fit_of(those([](int scatters) { return scatters == 1; }));
  const TailFit scattered = fit_of(those([](int scatters) { return scatters > 0; }));
  CHECK(single.mean == approx(1).epsilon(0.04));
  CHECK(scattered.mean == approx(scattered.counts / scattered.scatter).epsilon(1e-6));
  CHECK(scattered.mean > 1.1);
  made.events.additive = Buffer<float>(Memory::host, made.events.count);
  for (std::int64_t i = 0; i < made.events.count; ++i)
    made.events.additive[i] = static_cast<float>(simulator.randoms_per_pair()) /
                              scanner.efficiency(made.events.detector1[i], made.events.detector2[i]);
  const TailFit all = fit_of(made.events);
  CHECK(all.counts > scattered.counts);
  CHECK(std::abs(all.mean - scattered.mean) < 3 * all.error);
  CHECK(all.error < 0.05);
  CHECK(!all.is_at_bound);
  CHECK(all.chi2_a_place() < 2);
  // An estimate that falls too fast with the distance from the axis does not fit, whatever its factor.
  ScatterEstimate narrow = estimate;
  for (std::size_t n = 0; n < narrow.values.size(); ++n) {
    const auto s = static_cast<double>(n % static_cast<std::size_t>(narrow.size[0])) - 0.5 * (narrow.size[0] - 1);
    narrow.values[n] *= static_cast<float>(std::exp(-std::abs(s) * static_cast<double>(narrow.radial_mm) / 100));
  }
  ScatterTails of_narrow(mu);
  of_narrow.add(made.events);
  CHECK(of_narrow.fit(narrow, 1).chi2_a_place() > 2 * all.chi2_a_place());

  // Events with ToF whose terms are of whole lines, as where the projector does not look at it.
  EventBatch with_tof = made.events.to(Memory::host);
  with_tof.tof = {.sigma_mm = 20, .bin_width_mm = 11, .window_mm = 600};
  with_tof.tof_mm = Buffer<float>::zeros(Memory::host, with_tof.count);
  CHECK(fit_of(with_tof).mean == approx(all.mean).epsilon(1e-6));

  // The events as bins with two counts each are as twice the scan.
  EventBatch bins = made.events.to(Memory::host);
  bins.duration_s *= 2;
  bins.counts = Buffer<float>(Memory::host, bins.count);
  std::ranges::fill(bins.counts.span(), 2.0f);
  const TailFit of_bins = fit_of(bins);
  CHECK(of_bins.counts == 2 * all.counts);
  CHECK(of_bins.mean == approx(all.mean).epsilon(1e-6));

  // As from delayeds of which each pair has three on average: some pairs have no randoms, others twice as many.
  EventBatch noisy = made.events.to(Memory::host);
  RandomStream random(6, 0);
  for (float& value : noisy.additive.span()) value *= static_cast<float>(std::poisson_distribution<int>(3)(random)) / 3;
  CHECK(std::abs(fit_of(noisy).mean - all.mean) < all.error);

  // One in four is looked at.
  ScatterTails thinned(mu);
  thinned.add(made.events, made.events.count / 3);
  const TailFit some = thinned.fit(estimate, 1);
  CHECK(some.counts < all.counts / 3);
  CHECK(std::abs(some.mean - all.mean) < 3 * some.error);
  // A factor that grows along z is found.
  ScatterEstimate tilted = estimate;
  for (std::size_t n = 0; n < tilted.values.size(); ++n) {
    const auto sample = [&](std::size_t axis, std::size_t stride) {
      return static_cast<double>(n / stride % static_cast<std::size_t>(tilted.size[axis])) -
             0.5 * (tilted.size[axis] - 1);
    };
    const auto a_row = static_cast<std::size_t>(tilted.size[0]) * static_cast<std::size_t>(tilted.size[1]);
    const double z = 0.5 * static_cast<double>(tilted.axial_mm) *
                     (sample(2, a_row) + sample(3, a_row * static_cast<std::size_t>(tilted.size[2])));
    tilted.values[n] /= static_cast<float>(1 + 0.005 * z);
  }
  ScatterTails by_z(mu);
  by_z.add(made.events);
  const TailFit slope = by_z.fit(tilted, 1, 1000);
  REQUIRE(slope.factors.size() > 2);
  const double low = slope.z_mm.front(), high = slope.z_mm.back();
  CHECK(high - low > 40);
  CHECK(slope.at(high) / slope.at(low) == approx((1 + 0.005 * high) / (1 + 0.005 * low)).epsilon(0.08));
  CHECK(slope.at(1000) == slope.factors.back());
  // The image of twice the time has twice the scatter in its unit, and the same factor.
  for (float& value : made.events.additive.span()) value *= 2;
  ScatterEstimate twice = estimate;
  for (float& value : twice.values) value *= 2;
  ScatterTails longer(mu);
  longer.add(made.events);
  CHECK(longer.fit(twice, 2).mean == approx(all.mean).epsilon(1e-4));
}

TEST_CASE("what cannot scatter is refused") {
  const Phantom phantom = off_axis(1e3);
  SimulationOptions options{.scatter = true};
  options.attenuation = false;
  CHECK(refusal_of(shell(), phantom, options) == "simulation: what is not attenuated is not scattered");
  options.attenuation = true;
  Solid source = cylinder("source", 40, 20, 100);
  source.activity_Bq_mL = 1e3;
  CHECK(refusal_of(shell(), Phantom("air", {source}), options) ==
        "scatter: phantom air attenuates nothing, so that nothing scatters");
}
// SPDX-License-Identifier: Apache-2.0
