// The Monte Carlo's list mode: ToF's sign and spread, absolute counts against the closed-form
// efficiencies, attenuation, randoms, and the same events whatever the number of threads.
#include <array>
#include <map>
#include <numbers>

#include <tbb/global_control.h>

#include "kernels/ring/simulate/event_simulator.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

RingScanner ring_of_two_layers() {
  RingScanner ring;
  ring.inner_radius_mm = 150;
  ring.modules_transaxial = 24;
  ring.modules_axial = 3;
  ring.crystals_transaxial = 4;
  ring.crystals_axial = 4;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 8;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 9;
  ring.module_pitch_axial_mm = 38;
  ring.layers = {{8, 0.83}, {12, 0.7}};
  ring.tof_fwhm_ps = 400;
  ring.min_sector_difference = 5;
  return ring;
}

Phantom single(Shape shape, Vec3d centre, Vec3d half_axes, double activity, double mu = 0) {
  Solid solid(shape, centre, half_axes);
  solid.activity_Bq_mL = activity;
  if (mu > 0) solid.mu_per_cm = mu;
  return Phantom("single", {solid});
}

struct Moments {
  double count = 0, sum = 0, squares = 0;
  void add(double x) {
    ++count;
    sum += x;
    squares += x * x;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(squares / count - mean() * mean()); }
};

Vec3d end(const EventBatch& events, const Buffer<std::uint32_t>& detectors, std::int64_t i) {
  return events.detectors->position(detectors[i]).as<double>();
}

/// ToF of a point on the LOR: its distance from the midpoint towards detector 2.
double expected_tof(const EventBatch& events, std::int64_t i, Vec3d point) {
  const Vec3d a = end(events, events.detector1, i), b = end(events, events.detector2, i);
  return dot(point - 0.5 * (a + b), b - a) / norm(b - a);
}

bool same_events(const EventBatch& a, const EventBatch& b) {
  return a.detector1.to_vector() == b.detector1.to_vector() && a.detector2.to_vector() == b.detector2.to_vector() &&
         a.tof_mm.to_vector() == b.tof_mm.to_vector() && a.duration_s == b.duration_s;
}

}  // namespace

TEST_CASE("ToF of a point off centre has the right sign, mean and spread") {
  const Vec3d point{40, -25, 10};
  const RingScanner ring = ring_of_two_layers();
  EventSimulator simulator(ring, single(Shape::ellipsoid, point, {1, 1, 1}, 1e9));
  const EventBatch events = simulator.next_events(200000).events;
  Moments error, position[3];
  for (std::int64_t i = 0; i < events.count; ++i) {
    const double tof = static_cast<double>(events.tof_mm[i]);
    error.add(tof - expected_tof(events, i, point));
    const Vec3d a = end(events, events.detector1, i), b = end(events, events.detector2, i);
    const Vec3d estimate = 0.5 * (a + b) + (tof / norm(b - a)) * (b - a);
    for (int axis = 0; axis < 3; ++axis) position[axis].add(estimate[axis]);
    REQUIRE(events.detector1[i] > events.detector2[i]);
  }
  const double sigma = ring.tof_sigma_mm();  // 25.5 mm
  CHECK(std::abs(error.mean()) < 5 * sigma / std::sqrt(error.count));
  // The depth of interaction adds the spread of half the difference of two depths.
  CHECK(error.deviation() > sigma * 0.995);
  CHECK(error.deviation() < std::hypot(sigma, 6.0));
  CHECK(position[0].mean() == approx(40).epsilon(0.01));
  CHECK(position[1].mean() == approx(-25).epsilon(0.01));
  CHECK(position[2].mean() == approx(10).epsilon(0.03));
}

TEST_CASE("lines of a point's events pass it within a crystal's width") {
  const Vec3d point{30, 20, -12};
  EventSimulator simulator(ring_of_two_layers(), single(Shape::ellipsoid, point, {.1, .1, .1}, 1e9));
  const EventBatch events = simulator.next_events(20000).events;
  double worst = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const Vec3d a = end(events, events.detector1, i), b = end(events, events.detector2, i);
    const double along = dot(point - a, b - a) / dot(b - a, b - a);
    worst = std::max(worst, norm(point - a - along * (b - a)));
  }
  CHECK(worst < std::sqrt(2.0) * 9);  // half a crystal's diagonal and half a layer's obliquity
}

TEST_CASE("the same seed gives the same events on one thread and on two, another seed others") {
  const Phantom phantom = single(Shape::cylinder, {}, {60, 50, 40}, 1e4, 0.096);
  const auto batches = [&](std::size_t threads, std::uint64_t seed) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    SimulationOptions options;
    options.seed = seed;
    options.randoms_cps = 2e3;
    EventSimulator simulator(ring_of_two_layers(), phantom, options);
    std::array<EventBatch, 3> result;
    result[0] = simulator.next_events(30000).events;
    result[1] = simulator.next_seconds(0.5).events;
    result[2] = simulator.next_events(7).events;
    return result;
  };
  const auto one = batches(1, 5), two = batches(2, 5), other = batches(2, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(one[i].count > 0);
    CHECK(same_events(one[i], two[i]));
    CHECK_FALSE(same_events(one[i], other[i]));
  }
  CHECK(one[0].count == 30000);
  CHECK(one[2].count == 7);
  CHECK(one[1].start_s == approx(one[0].duration_s));
  CHECK(one[1].duration_s == 0.5);
}

TEST_CASE("counts of pairs are efficiency times the activity along the line") {
  // Grouped by what the efficiency depends on. The phantom is wider than the fan of lines, so that no line grazes an
  // edge, where the integral would vary within a crystal's width.
  RingScanner ring = ring_of_two_layers();
  ring.min_sector_difference = 7;
  SimulationOptions options;
  options.seed = 11;
  EventSimulator simulator(ring, single(Shape::cylinder, {}, {125, 125, 80}, 2e4), options);
  const SimulatedEvents made = simulator.next_events(3000000);
  const Scanner& scanner = *simulator.scanner();
  const auto elements = static_cast<std::uint32_t>(ring.elements());
  const auto groups = [&](std::uint32_t d1, std::uint32_t d2) {
    const std::uint32_t m1 = d1 / elements, m2 = d2 / elements;
    const int step = std::abs(static_cast<int>(m1 % 24) - static_cast<int>(m2 % 24));
    const auto layer1 = static_cast<int>(d1 % elements / 16), layer2 = static_cast<int>(d2 % elements / 16);
    const auto across1 = static_cast<int>(d1 % 4), across2 = static_cast<int>(d2 % 4);
    const auto edge = [](int across) { return across == 0 || across == 3 ? 1 : 0; };
    return std::array<int, 4>{std::min(step, 24 - step), 100 + static_cast<int>(m1 / 24 - m2 / 24),
                              200 + layer1 + layer2, 300 + edge(across1) + edge(across2)};
  };
  std::map<int, double> counted, expected;
  for (std::int64_t i = 0; i < made.events.count; ++i)
    for (const int group : groups(made.events.detector1[i], made.events.detector2[i])) ++counted[group];
  double total = 0;
  for (std::uint32_t d1 = 0; d1 < scanner.detectors->size(); ++d1)
    for (std::uint32_t d2 = 0; d2 < d1; ++d2) {
      const double efficiency = static_cast<double>(scanner.efficiency(d1, d2));
      if (efficiency == 0) continue;
      const double trues = made.events.duration_s * efficiency *
                           simulator.phantom().activity_integral(scanner.detectors->position(d1).as<double>(),
                                                                 scanner.detectors->position(d2).as<double>());
      total += trues;
      for (const int group : groups(d1, d2)) expected[group] += trues;
    }
  CHECK(static_cast<double>(made.truth.trues) == approx(total).epsilon(0.002));
  // The most oblique modules count 0.8 % less: the closed form does not know of the corners between modules, where a
  // photon has crossed more of its neighbour. Detectors in the middle of their crystals, whose lines lie farther out
  // and are shorter there, used to hide it.
  for (const auto& [group, count] : counted) {
    CHECK(std::abs(count / expected[group] - 1) < 0.005 + 4 / std::sqrt(count));
  }
}

TEST_CASE("a phantom's attenuation lets exp(-mu L) of pairs through") {
  // A thin rod on the axis of a wide cylinder; lines of the middle ring cross it almost at right angles.
  RingScanner ring = ring_of_two_layers();
  ring.modules_axial = 1;
  std::vector<Solid> solids{Solid(Shape::cylinder, {}, {80, 80, 100}), Solid(Shape::cylinder, {}, {1, 1, 10})};
  solids[0].mu_per_cm = 0.096;
  solids[1].activity_Bq_mL = 1e6;
  const Phantom phantom("rod", solids);
  SimulationOptions without;
  without.attenuation = false;
  const auto rate = [&](const SimulationOptions& options) {
    EventSimulator simulator(ring, phantom, options);
    return 400000 / simulator.next_events(400000).events.duration_s;
  };
  // The mean over slopes of exp(-0.096 * 16 / sin) lies between those of 0 and of atan(17 / 150).
  const double survival = rate({}) / rate(without), straight = std::exp(-0.096 * 16);
  CHECK(survival < straight * 1.006);
  CHECK(survival > std::exp(-0.096 * 16 * std::hypot(1.0, 17.0 / 150)) * 0.994);
}

TEST_CASE("decays are uniform in the phantom and lines isotropic across the axis") {
  EventSimulator simulator(ring_of_two_layers(), single(Shape::ellipsoid, {}, {2, 2, 2}, 1e8));
  const EventBatch events = simulator.next_events(240000).events;
  std::array<double, 24> sectors{};
  Moments steepness;
  for (std::int64_t i = 0; i < events.count; ++i) {
    ++sectors[events.detector1[i] / 32 % 24];
    ++sectors[events.detector2[i] / 32 % 24];
    const Vec3d line = end(events, events.detector1, i) - end(events, events.detector2, i);
    steepness.add((line.y > 0 ? line.z : -line.z) / norm(line));
  }
  double chi_square = 0;
  for (const double n : sectors) chi_square += (n - 20000) * (n - 20000) / 20000;
  CHECK(chi_square < 2 * 49.7);  // 23 degrees, 0.999 quantile; both ends of an event are one count
  CHECK(std::abs(steepness.mean()) < 5 * steepness.deviation() / std::sqrt(steepness.count));
}

TEST_CASE("randoms come at their rate, uniform over ToF and the pairs in coincidence") {
  RingScanner ring = ring_of_two_layers();
  ring.tof_bins = 9;
  ring.tof_bin_ps = 200;
  SimulationOptions options;
  options.randoms_cps = 5e5;
  EventSimulator simulator(ring, single(Shape::ellipsoid, {}, {2, 2, 2}, 1e6), options);
  const SimulatedEvents made = simulator.next_seconds(0.4);
  std::array<double, 9> bins{};
  double randoms = 0;
  for (std::int64_t i = 0; i < made.events.count; ++i) {
    const double bin = (static_cast<double>(made.events.tof_mm[i]) + ring.tof_window_mm()) / ring.tof_bin_mm() - 0.5;
    REQUIRE(std::abs(bin - std::round(bin)) < 1e-4);
    REQUIRE(simulator.scanner()->in_coincidence(made.events.detector1[i], made.events.detector2[i]));
    if (!made.is_random[static_cast<std::size_t>(i)]) continue;
    ++randoms;
    ++bins[static_cast<std::size_t>(std::lround(bin))];
  }
  CHECK(static_cast<double>(made.truth.randoms) == randoms);
  CHECK(made.truth.trues + made.truth.randoms == made.events.event_count());
  CHECK(std::abs(randoms - 2e5) < 5 * std::sqrt(2e5));
  for (const double n : bins) CHECK(std::abs(n - randoms / 9) < 5 * std::sqrt(randoms / 9));
  CHECK(made.events.tof.bin_width_mm == approx(ring.tof_bin_mm()));
  // 72 modules of 32 detectors; each meets the modules of 24 - 9 sectors in three rings.
  const double pairs = 72.0 * 15 * 3 / 2 * 32 * 32;
  CHECK(simulator.randoms_per_pair() == approx(5e5 / pairs / (2 * ring.tof_window_mm())).epsilon(1e-12));
}

TEST_CASE("batches by count and by time agree with the announced rate, and the decays with the activity") {
  const Phantom phantom = single(Shape::cylinder, {}, {50, 50, 30}, 1e5, 0.05);
  SimulationOptions options;
  options.activity_scale = 0.5;
  EventSimulator simulator(ring_of_two_layers(), phantom, options);
  const SimulatedEvents by_count = simulator.next_events(300000);
  const SimulatedEvents by_time = simulator.next_seconds(by_count.events.duration_s);
  CHECK(std::abs(static_cast<double>(by_time.events.count) - 300000) < 5 * std::sqrt(6e5));
  CHECK(simulator.expected_cps() * by_count.events.duration_s == approx(300000).epsilon(0.05));
  const double activity = 0.5 * 1e5 * std::numbers::pi * 2500 * 60 * 1e-3;
  CHECK(by_time.truth.decays == approx(activity * by_time.events.duration_s).epsilon(1e-9));
}

TEST_CASE("acollinearity and positron range widen a point by what they say") {
  // In a ring of fine crystals, the spread of the distance of a point's lines across z; 0.5 degrees is 1.1 mm FWHM at
  // 250 mm.
  RingScanner ring;
  ring.inner_radius_mm = 250;
  ring.modules_transaxial = 64;
  ring.crystals_transaxial = 24;
  ring.crystals_axial = 8;
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 1;
  ring.crystal_axial_mm = ring.pitch_axial_mm = 4;
  ring.layers = {{2, 5}};
  ring.min_sector_difference = 20;
  const auto spread = [&](double acollinearity, double range) {
    SimulationOptions options;
    options.acollinearity_fwhm_deg = acollinearity;
    options.positron_range_fwhm_mm = range;
    EventSimulator simulator(ring, single(Shape::ellipsoid, {}, {.01, .01, .01}, 1e12), options);
    const EventBatch events = simulator.next_events(100000).events;
    Moments across;
    for (std::int64_t i = 0; i < events.count; ++i) {
      const Vec3d a = end(events, events.detector1, i), b = end(events, events.detector2, i);
      across.add((a.x * b.y - a.y * b.x) / std::hypot(b.x - a.x, b.y - a.y));
    }
    return across.deviation();
  };
  // Crystals of 1 mm leave a point at the middle on the lines through it, but round what is moved: by
  // 1 / sqrt(12) at each end, of which the line takes the mean.
  const double rounding = 1 / std::sqrt(24.0);
  CHECK(spread(0, 0) < 0.4 * rounding);
  // A bend of sigma s at the middle moves the line by 250 mm s / 2 sideways.
  const double bend = 0.5 / 2.35482 * std::numbers::pi / 180 * 251 / 2;
  CHECK(spread(0.5, 0) == approx(std::hypot(rounding, bend)).epsilon(0.02));
  CHECK(spread(0, 3) == approx(std::hypot(rounding, 3 / 2.35482)).epsilon(0.02));
}

TEST_CASE("a simulation that makes no sense is refused in one line") {
  const RingScanner ring = ring_of_two_layers();
  const auto refused = [&](const Phantom& phantom, SimulationOptions options, const char* why) {
    CHECK_THROWS_WITH_AS(EventSimulator(ring, phantom, options), doctest::Contains(why), std::invalid_argument);
  };
  const Phantom good = single(Shape::ellipsoid, {}, {5, 5, 5}, 1e5);
  refused(single(Shape::ellipsoid, {}, {5, 5, 5}, 0), {}, "has no activity");
  refused(single(Shape::ellipsoid, {120, 0, 0}, {40, 5, 5}, 1), {}, "reaches 160");
  refused(single(Shape::ellipsoid, {0, 0, 400}, {5, 5, 5}, 1), {}, "no activity in the scanner");
  refused(good, {.activity_scale = NAN}, "activity_scale");
  refused(good, {.randoms_cps = -1}, "randoms_cps");
  refused(good, {.acollinearity_fwhm_deg = 90}, "acollinearity");
  EventSimulator simulator(ring, good);
  CHECK_THROWS_AS(simulator.next_events(0), std::invalid_argument);
  CHECK_THROWS_AS(simulator.next_seconds(-1), std::invalid_argument);
  CHECK_THROWS_AS(simulator.next_seconds(1e12), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
