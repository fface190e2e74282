// Sensitivity: against a sum over all pairs in the test itself, samples within their stated error,
// and keys that change with whatever the result depends on.
#include <random>
#include <set>

#include "kernels/analysis/compare.hpp"
#include "kernels/sensitivity/pair_list.hpp"
#include "kernels/sensitivity/sensitivity.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid grid = Grid::centred(11, 9, 7, {6, 6, 5});

/// The simplest projector: each line is sampled every 1.5 mm at the nearest voxel.
class StepProjector : public Projector {
 public:
  const Grid& grid() const override { return ::grid; }
  Backend backend() const override { return Backend::cpu; }
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
        index[axis] = static_cast<int>(std::lround((p[axis] - static_cast<double>(::grid.origin_mm[axis])) /
                                                   static_cast<double>(::grid.voxel_mm[axis])));
        inside = inside && index[axis] >= 0 && index[axis] < ::grid.size[axis];
      }
      if (inside) visit(::grid.index(index[0], index[1], index[2]), norm(along) / steps);
    }
  }
};

/// Modules of two types on a ring: 3 x 2 elements, and 2 x 1 elements. All tables are filled.
Scanner toy_scanner(std::uint32_t energies1 = 2, std::uint32_t energies2 = 1) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(0.5f, 1.5f);
  Scanner scanner;
  scanner.name = "toy";
  std::vector<Vec3> positions;
  const auto add_module = [&](int m, int transaxial, int axial) {
    const float angle = 6.2831853f * static_cast<float>(m) / 10;
    for (int t = 0; t < transaxial; ++t)
      for (int z = 0; z < axial; ++z) {
        const float across = 8.0f * (static_cast<float>(t) - 0.5f * static_cast<float>(transaxial - 1));
        positions.push_back({80 * std::cos(angle) - across * std::sin(angle),
                             80 * std::sin(angle) + across * std::cos(angle),
                             10.0f * (static_cast<float>(z) - 0.5f * static_cast<float>(axial - 1))});
      }
  };
  for (int m = 0; m < 6; ++m) add_module(m, 3, 2);
  for (int m = 6; m < 10; ++m) add_module(m, 2, 1);
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  scanner.types = {{0, 0, 6, 6, energies1, 0}, {36, 6, 4, 2, energies2, 36 * energies1}};
  scanner.calibration = 0.7f;
  scanner.bin_efficiency.resize(36 * energies1 + 8 * energies2);
  for (float& e : scanner.bin_efficiency) e = uniform(random);
  scanner.pair_tables.resize(4);  // [type1][type2]
  for (std::uint32_t t = 0; t < 4; ++t) {
    const std::uint32_t rows = t / 2 ? 2 * energies2 : 6 * energies1;
    scanner.pair_tables[t].columns = t % 2 ? 2 * energies2 : 6 * energies1;
    scanner.pair_tables[t].values.resize(std::size_t{rows} * scanner.pair_tables[t].columns);
    for (float& e : scanner.pair_tables[t].values) e = uniform(random);
  }
  scanner.module_pair.assign(100, -1);
  for (std::uint32_t a = 0; a < 10; ++a)
    for (std::uint32_t b = 0; b < 10; ++b)
      if ((a + 10 - b) % 10 >= 2 && (a + 10 - b) % 10 <= 8)
        scanner.module_pair[a * 10 + b] = static_cast<std::int32_t>((a >= 6 ? 2 : 0) + (b >= 6 ? 1 : 0));
  scanner.module_pair[0] = 0;  // also within module 0
  scanner.validate();
  return scanner;
}

/// The definition: every pair in coincidence, one after another.
Image by_definition(const Scanner& scanner, Projector& projector, const Image* mu = nullptr) {
  Image result = Image::zeros(grid);
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
      if (mu) projector.forward(event, mu->voxels.data(), &integral);
      value *= std::exp(-integral);
      projector.back(event, &value, result.voxels.data());
    }
  return result;
}

Image cylinder_mu() {
  Image mu = Image::zeros(grid);
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        if (std::hypot(grid.centre(i, j, k).x, grid.centre(i, j, k).y) < 20) mu.voxels[grid.index(i, j, k)] = 0.0096f;
  return mu;
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
      detail::PairList::Walk walk(list, 0);
      for (std::int64_t n = 0; n < list.size(); ++n) {
        const auto pair = walk.pair(n);
        REQUIRE(pair.detector1 > pair.detector2);
        REQUIRE(scanner.in_coincidence(pair.detector1, pair.detector2));
        REQUIRE(walk.efficiency(pair) ==
                doctest::Approx(scanner.efficiency(pair.detector1, pair.detector2)).epsilon(1e-6));
        REQUIRE(seen.emplace(pair.detector1, pair.detector2).second);
        const auto direct = detail::PairList::Walk(list, n).pair(n);
        REQUIRE(direct.detector1 == pair.detector1);
        REQUIRE(direct.detector2 == pair.detector2);
      }
      std::int64_t expected = 0;
      for (std::uint32_t d1 = 0; d1 < scanner.detectors->size(); ++d1)
        for (std::uint32_t d2 = 0; d2 < d1; ++d2) expected += scanner.in_coincidence(d1, d2);
      CHECK(list.size() == expected);
    }
  }
}

TEST_CASE("exact sensitivity is the sum over all pairs, with and without attenuation") {
  const Scanner scanner = toy_scanner();
  StepProjector projector;
  const Image mu = cylinder_mu();
  for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu}) {
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
    CHECK(s.projected > s.pairs / 2);
    CHECK(s.projected <= s.pairs);
    const Comparison c = compare(s.image, by_definition(scanner, projector, attenuation));
    CHECK(c.max_abs < 1e-5 * c.reference_mean);
  }
}

TEST_CASE("lines that cannot touch the image are left out, and no others") {
  Scanner scanner = toy_scanner();
  std::vector<Vec3> positions;
  for (std::uint32_t d = 0; d < scanner.detectors->size(); ++d)
    positions.push_back(scanner.detectors->position(d) + Vec3{40, 0, 0});  // image off centre
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  StepProjector projector;
  SensitivitySettings settings;
  settings.margin_voxels = 0;
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
  CHECK(std::sqrt(ratio2) < 1.15);
  CHECK(std::sqrt(ratio2) > 0.6);
  CHECK(total == doctest::Approx(1).epsilon(0.03));
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
  settings.replicates = 1;
  CHECK_THROWS_AS(compute_sensitivity(toy_scanner(), projector, settings), std::invalid_argument);
  Scanner alone = toy_scanner();
  alone.module_pair.assign(100, -1);
  CHECK_THROWS_AS(compute_sensitivity(alone, projector), std::invalid_argument);
  const Image mu = Image::zeros(Grid::centred(2, 2, 2, {1, 1, 1}));
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
  add(scanner, grid, "joseph");
  add(scanner, grid, "tor");
  add(scanner, grid, "joseph", {}, &mu);
  add(scanner, Grid::centred(11, 9, 8, {6, 6, 5}), "joseph");
  SensitivitySettings settings;
  settings.seed = 9;
  add(scanner, grid, "joseph", settings);
  for (int change = 0; change < 5; ++change) {
    Scanner other = scanner;
    if (change == 0) other.calibration = 1;
    if (change == 1) other.bin_efficiency[3] = 2;
    if (change == 2) other.module_pair[53] = -1;
    if (change == 3) other.module_pair[3] = 1;
    if (change == 4) other.pair_tables[1].values[0] = 2;
    add(other, grid, "joseph");
  }
}
