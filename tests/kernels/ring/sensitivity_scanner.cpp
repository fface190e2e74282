// Sensitivity: against a sum over all pairs in the test itself, samples within their stated error,
// and keys that change with whatever the result depends on.
#include <set>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using testing::toy_scanner;

namespace {

const Grid coarse_grid = Grid::centred(11, 9, 7, {6, 6, 5});

/// The simplest projector: each line is sampled every 1.5 mm at the nearest voxel.
class StepProjector : public ListModeProjector {
 public:
  const Grid& grid() const override { return coarse_grid; }
  Backend backend() const override { return Backend::cpu; }
  float reach_mm() const override { return 0; }
  void forward(const EventView& events, const float* image, float* expectation, Stream) override {
    for (std::int64_t i = 0; i < events.count; ++i) {
      double sum = 0;
      each_step(events.lor(i), [&](std::int64_t v, double mm) { sum += mm * static_cast<double>(image[v]); });
      expectation[i] = static_cast<float>(sum);
    }
  }
  void back(const EventView& events, const float* values, float* image, Stream) override {
    for (std::int64_t i = 0; i < events.count; ++i)
      each_step(events.lor(i),
                [&](std::int64_t v, double mm) { image[v] += static_cast<float>(mm) * (values ? values[i] : 1.0f); });
  }
  EmTally em_step(const EventView&, const float*, float*, Stream) override { return {}; }

 private:
  template <class Visit>
  static void each_step(const Lor& lor, const Visit& visit) {
    const Vec3d a = lor.end1.as<double>(), along = lor.end2.as<double>() - a;
    const int steps = static_cast<int>(norm(along) / 1.5) + 1;
    for (int s = 0; s < steps; ++s) {
      const Vec3d p = a + ((s + 0.5) / steps) * along;
      int index[3];
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        index[axis] = static_cast<int>(std::lround((p[axis] - static_cast<double>(::coarse_grid.origin_mm[axis])) /
                                                   static_cast<double>(::coarse_grid.voxel_mm[axis])));
        inside = inside && index[axis] >= 0 && index[axis] < ::coarse_grid.size[axis];
      }
      if (inside) visit(::coarse_grid.index(index[0], index[1], index[2]), norm(along) / steps);
    }
  }
};

/// The definition: every pair in coincidence, one after another. Attenuation is Joseph's on the map's own grid.
Image by_definition(const Scanner& scanner, ListModeProjector& projector, const Image* mu = nullptr) {
  const auto joseph = make_joseph_reference(mu ? mu->grid : coarse_grid, {});
  Image result = Image::zeros(coarse_grid);
  const auto count = static_cast<std::uint32_t>(scanner.detectors->size());
  for (std::uint32_t d1 = 0; d1 < count; ++d1)
    for (std::uint32_t d2 = 0; d2 < d1; ++d2) {
      if (!scanner.in_coincidence(d1, d2)) continue;
      EventView event;
      event.count = 1;
      event.detectors = scanner.detectors->on(Memory::host);
      event.detector1 = &d1;
      event.detector2 = &d2;
      float value = scanner.efficiency(d1, d2), integral = 0;
      if (mu) joseph->forward(event, mu->voxels.data(), &integral);
      value *= std::exp(-integral);
      projector.back(event, &value, result.voxels.data());
    }
  return result;
}

Image cylinder_mu() {
  return testing::cylinder_mu(coarse_grid, 20);
}

}  // namespace

TEST_CASE("the list of pairs holds every pair in coincidence once, with the scanner's efficiency") {
  for (const bool tables : {true, false}) {
    for (const std::uint32_t energies : {1u, 2u}) {
      Scanner scanner = toy_scanner(energies, 1);
      if (!tables) scanner.pair_tables.clear();
      if (energies == 1 && !tables) {
        scanner.bin_efficiency.clear();
        scanner.module_pair.clear();
      }
      const detail::PairList list(scanner);
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      detail::PairCursor cursor(list.view());
      for (std::int64_t n = 0; n < list.size(); ++n) {
        const auto pair = cursor.pair(n);
        REQUIRE(pair.detector1 > pair.detector2);
        REQUIRE(scanner.in_coincidence(pair.detector1, pair.detector2));
        REQUIRE(cursor.efficiency(pair) == approx(scanner.efficiency(pair.detector1, pair.detector2)).epsilon(1e-6));
        REQUIRE(seen.emplace(pair.detector1, pair.detector2).second);
        const auto direct = detail::PairCursor(list.view()).pair(n);
        REQUIRE(direct.detector1 == pair.detector1);
        REQUIRE(direct.detector2 == pair.detector2);
      }
      std::int64_t expected = 0;
      for (std::uint32_t d1 = 0; d1 < scanner.detectors->size(); ++d1)
        for (std::uint32_t d2 = 0; d2 < d1; ++d2) expected += scanner.in_coincidence(d1, d2);
      CHECK(list.size() == expected);
      for (std::uint32_t d1 = 0; d1 < scanner.detectors->size(); ++d1)  // in either order, in coincidence or not
        for (std::uint32_t d2 = 0; d2 < scanner.detectors->size(); ++d2)
          REQUIRE(detail::efficiency_of(list.view(), d1, d2) == approx(scanner.efficiency(d1, d2)).epsilon(1e-6));
    }
  }
}

TEST_CASE("exact sensitivity is the sum over all pairs, with and without attenuation") {
  const Scanner scanner = toy_scanner();
  StepProjector projector;
  const Image mu = cylinder_mu(), coarse = testing::cylinder_mu({{9, 7, 3}, {11, 13, 20}, {-35, -50, -15}}, 45);
  for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu, &coarse}) {
    SensitivitySettings settings;
    settings.batch_pairs = 100;  // several batches
    double last = 0;
    const Sensitivity s = compute_sensitivity(scanner, projector, settings, attenuation, nullptr, [&](double done) {
      CHECK(done > last);
      last = done;
    });
    CHECK(last == 1);
    CHECK(s.exact);
    CHECK(s.relative_error == 0);
    CHECK(s.projected > s.pairs / 3);
    CHECK(s.projected <= s.pairs);
    const Comparison c = compare(s.image, by_definition(scanner, projector, attenuation));
    CHECK(c.max_abs < 1e-5 * c.reference_mean);
  }
}

TEST_CASE("attenuation by a body that reaches beyond the image is exp(-mu L) of the whole body") {
  // Two detectors 160 mm apart, 0.01/mm over 120 mm between them, an image of 66 mm.
  Scanner scanner;
  scanner.detectors = std::make_shared<DetectorTable>(std::vector<Vec3>{{-80, 1, 2}, {80, 1, 2}});
  scanner.types = {{0, 0, 2, 1, 1, 0}};
  Image mu = Image::zeros(Grid::centred(40, 20, 20, {4, 5, 5}));
  for (int k = 0; k < 20; ++k)
    for (int j = 0; j < 20; ++j)
      for (int i = 5; i < 35; ++i) mu.voxels[mu.grid.index(i, j, k)] = 0.01f;
  const auto projector = make_joseph_projector(coarse_grid, {}, Backend::cpu);
  const Image free = compute_sensitivity(scanner, *projector).image;
  const Image attenuated = compute_sensitivity(scanner, *projector, {}, &mu).image;
  const std::int64_t centre = coarse_grid.index(5, 4, 3);
  CHECK(attenuated.voxels[centre] / free.voxels[centre] == approx(std::exp(-0.01 * 120)).epsilon(1e-5));
}

TEST_CASE("many equal lines add up without the rounding of a long float sum") {
  // 4000 detectors at each of two points: 16e6 pairs share one line, and each voxel of it holds 16e6 times its weight.
  Scanner scanner;
  std::vector<Vec3> positions(4000, Vec3{-80, 0, 0});
  positions.resize(8000, Vec3{80, 0, 0});
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  scanner.types = {{0, 0, 2, 4000, 1, 0}};
  const Grid line = Grid::centred(3, 1, 1, {7, 7, 7});
  const auto projector = make_joseph_projector(line, {}, Backend::cpu);
  SensitivitySettings settings;
  settings.batch_pairs = 1 << 16;
  const Image image = compute_sensitivity(scanner, *projector, settings).image;
  for (const float value : image.voxels.span()) CHECK(value == approx(7 * 16e6).epsilon(1e-6));
}

TEST_CASE("lines that cannot touch the image are left out, and no others") {
  Scanner scanner = toy_scanner();
  std::vector<Vec3> positions;
  for (std::uint32_t d = 0; d < scanner.detectors->size(); ++d)
    positions.push_back(scanner.detectors->position(d) + Vec3{40, 0, 0});  // image off centre
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  StepProjector projector;
  SensitivitySettings settings;
  const Sensitivity s = compute_sensitivity(scanner, projector, settings);
  CHECK(s.projected < s.pairs);
  const Comparison c = compare(s.image, by_definition(scanner, projector));
  CHECK(c.max_abs < 1e-5 * c.reference_mean);
}

TEST_CASE("a sample agrees with the exact sensitivity within the error it states") {
  const Scanner scanner = toy_scanner();
  StepProjector projector;
  const Image exact = compute_sensitivity(scanner, projector).image;
  double ratio2 = 0, total = 0;
  constexpr int seeds = 12;
  for (int seed = 1; seed <= seeds; ++seed) {
    SensitivitySettings settings;
    settings.exact_pairs = 10;
    settings.sampled_pairs = 160;
    settings.seed = static_cast<std::uint64_t>(seed);
    const Sensitivity s = compute_sensitivity(scanner, projector, settings);
    CHECK(!s.exact);
    CHECK(s.relative_error > 0.01);
    CHECK(s.relative_error < 1);
    double squares = 0;
    for (const float v : exact.voxels.span()) squares += static_cast<double>(v) * static_cast<double>(v);
    const Comparison c = compare(s.image, exact);
    const double rms = std::sqrt(squares / static_cast<double>(exact.voxels.size()));
    ratio2 += std::pow(c.rms / rms / s.relative_error, 2) / seeds;
    total += c.mean / c.reference_mean / seeds;
  }
  CHECK(std::sqrt(ratio2) < 1.25);
  CHECK(std::sqrt(ratio2) > 0.6);
  CHECK(total == approx(1).epsilon(0.03));
}

TEST_CASE("the same seed gives the same image, another seed another") {
  const Scanner scanner = toy_scanner();
  StepProjector projector;
  SensitivitySettings settings;
  settings.exact_pairs = 0;
  settings.sampled_pairs = 200;
  const auto image = [&] { return compute_sensitivity(scanner, projector, settings).image.voxels.to_vector(); };
  const std::vector<float> first = image();
  CHECK(image() == first);
  settings.seed = 2;
  CHECK(image() != first);
}

TEST_CASE("settings and scanners that make no sense are refused") {
  StepProjector projector;
  SensitivitySettings settings;
  for (const double error : {0.0, -0.01, std::nan("")}) {
    settings.error = error;
    CHECK_THROWS_AS(compute_sensitivity(toy_scanner(), projector, settings), std::invalid_argument);
  }
  settings = {.replicate_pairs = 0};
  CHECK_THROWS_AS(compute_sensitivity(toy_scanner(), projector, settings), std::invalid_argument);
  Scanner alone = toy_scanner();
  alone.module_pair.assign(100, -1);
  CHECK_THROWS_AS(compute_sensitivity(alone, projector), std::invalid_argument);
  const Image mu;
  CHECK_THROWS_AS(compute_sensitivity(toy_scanner(), projector, {}, &mu), std::invalid_argument);
}

TEST_CASE("the key changes with all that the result depends on") {
  const Scanner scanner = toy_scanner();
  const Image mu = cylinder_mu();
  std::set<std::string> keys;
  const auto add = [&](const Scanner& s, const Grid& g, const char* projector, const SensitivitySettings& settings = {},
                       const Image* m = nullptr) {
    const std::string key = sensitivity_key(s, g, projector, settings, m);
    CHECK(key.size() == 64);
    CHECK(keys.insert(key).second);
    CHECK(sensitivity_key(s, g, projector, settings, m) == key);
  };
  add(scanner, coarse_grid, "joseph");
  add(scanner, coarse_grid, "tor");
  add(scanner, coarse_grid, "joseph", {}, &mu);
  add(scanner, Grid::centred(11, 9, 8, {6, 6, 5}), "joseph");
  SensitivitySettings settings;
  settings.seed = 9;
  add(scanner, coarse_grid, "joseph", settings);
  add(scanner, coarse_grid, "joseph", {.error = 0.015});
  add(scanner, coarse_grid, "joseph", {.sampled_pairs = 1000});
  add(scanner, coarse_grid, "joseph", {.symmetric = false});
  for (int change = 0; change < 7; ++change) {
    Scanner other = scanner;
    if (change == 0) other.calibration = 1;
    if (change == 1) other.bin_efficiency[3] = 2;
    if (change == 2) other.module_pair[53] = -1;
    if (change == 3) other.module_pair[3] = 1;
    if (change == 4) other.pair_tables[1].values[0] = 2;
    if (change > 4) other.pair_tables[1].values.assign(100'000, 2.0f);  // which is hashed in pieces
    if (change == 6) other.pair_tables[1].values.back() = 1;
    add(other, coarse_grid, "joseph");
  }
}
// SPDX-License-Identifier: Apache-2.0
