// Sampled sensitivities: drawn until the error that was asked for is reached, averaged over the symmetries of the
// scanner, and without the bias that a noisy divisor gives an image.
#include <algorithm>
#include <cmath>

#include "kernels/analysis/compare.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sample_bias.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/sensitivity/symmetry.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr SensitivitySettings enumerated{.exact_pairs = std::int64_t{1} << 40};

SensitivitySettings sampled(double error) {
  return {.exact_pairs = 0, .error = error, .replicate_pairs = 250};
}

/// RMS deviation from the exact image over its RMS.
double true_error(const Sensitivity& sampled, const Image& exact) {
  double squares = 0;
  for (const float v : exact.voxels.span()) squares += static_cast<double>(v) * static_cast<double>(v);
  return compare(sampled.image, exact).rms / std::sqrt(squares / static_cast<double>(exact.voxels.size()));
}

Image averaged(const Image& image, const detail::SymmetryGroup& group) {
  std::vector<double> values;
  for (const float v : image.voxels.span()) values.push_back(static_cast<double>(v));
  Image result = Image::zeros(image.grid);
  for (std::int64_t v = 0; v < result.voxels.size(); ++v)
    result.voxels[v] = static_cast<float>(group.mean(values.data(), v));
  return result;
}

int symmetries(const Scanner& scanner, const Grid& grid) {
  return detail::common_symmetries(scanner, grid).count;
}

const Grid square = Grid::centred(30, 30, 18, {2, 2, 2.5f});

}  // namespace

TEST_CASE("a sample is drawn until the error that was asked for is reached, and states no less than it has") {
  const auto scanner = make_scanner(two_layer_ring());
  for (const bool symmetric : {false, true}) {
    const auto projector = make_joseph_projector(square, {}, Backend::cpu);
    const Image exact = compute_sensitivity(*scanner, *projector, enumerated).image;
    std::int64_t drawn_before = 0;
    for (const double error : {0.2, 0.1, 0.05}) {
      SensitivitySettings settings = sampled(error);
      settings.symmetric = symmetric;
      const Sensitivity s = compute_sensitivity(*scanner, *projector, settings);
      CHECK(!s.exact);
      CHECK(s.relative_error <= error);
      CHECK(s.relative_error > 0.3 * error);
      CHECK(true_error(s, exact) < 1.15 * s.relative_error);
      CHECK(s.drawn > drawn_before);
      CHECK(s.drawn < s.pairs);
      CHECK(s.symmetries == (symmetric ? 8 : 1));
      drawn_before = s.drawn;
    }
  }
}

TEST_CASE("a sample ends where no more pairs may be drawn, and says what it reached") {
  const auto scanner = make_scanner(two_layer_ring());
  const auto projector = make_joseph_projector(square, {}, Backend::cpu);
  SensitivitySettings settings = sampled(1e-4);
  settings.sampled_pairs = 9999;
  double last = 0;
  const Sensitivity s = compute_sensitivity(*scanner, *projector, settings, nullptr, nullptr, [&](double done) {
    CHECK(done >= last);
    last = done;
  });
  CHECK(last <= 1);
  CHECK(s.drawn == 8000);  // whole groups of eight replicates
  CHECK(s.relative_error > 1e-3);
  settings.sampled_pairs = 80;
  CHECK(compute_sensitivity(*scanner, *projector, settings).drawn == 80);
  settings.sampled_pairs = std::int64_t{1} << 31;  // far more than there are pairs: nearly all of them are drawn
  const Sensitivity all = compute_sensitivity(*scanner, *projector, settings);
  CHECK(all.drawn > all.pairs - 16 * 250);
  CHECK(all.drawn <= all.pairs);
  CHECK(all.relative_error < 0.2 * s.relative_error);
}

TEST_CASE("symmetries are those of the scanner and of the grid") {
  const auto eighteen = make_scanner(two_layer_ring(18)), sixteen = make_scanner(two_layer_ring(16));
  CHECK(symmetries(*eighteen, square) == 8);  // its quarter turn is none
  CHECK(symmetries(*sixteen, square) == 16);
  CHECK(symmetries(*sixteen, Grid::centred(30, 28, 18, {2, 2, 2.5f})) == 8);
  CHECK(symmetries(*sixteen, Grid::centred(30, 30, 18, {2, 2.1f, 2.5f})) == 8);
  Grid moved = square;
  moved.origin_mm.x += 0.5f;
  CHECK(symmetries(*sixteen, moved) == 4);  // mirrors in y and z
  moved.origin_mm.z += 1;
  CHECK(symmetries(*sixteen, moved) == 2);
  CHECK(symmetries(*sixteen, blob_grid(20, 20, 12, 3)) == 4);  // all axes at once, and the exchange of x and y
  CHECK(symmetries(toy_scanner(), square) == 1);
}

TEST_CASE("one detector that differs in place or efficiency is no symmetry") {
  const auto ring = make_scanner(two_layer_ring(16));
  Scanner scanner = *ring;
  scanner.bin_efficiency.assign(static_cast<std::size_t>(scanner.detectors->size()), 1.0f);
  CHECK(symmetries(scanner, square) == 16);
  scanner.bin_efficiency[77] = 0.9f;
  CHECK(symmetries(scanner, square) == 1);
  scanner = *ring;
  std::vector<Vec3> positions;
  for (std::uint32_t d = 0; d < scanner.detectors->size(); ++d) positions.push_back(scanner.detectors->position(d));
  positions[200].z += 0.1f;
  scanner.detectors = std::make_shared<DetectorTable>(positions);
  CHECK(symmetries(scanner, square) == 1);
  scanner = *ring;
  const std::uint32_t modules = scanner.modules();
  for (std::uint32_t m = 0; m < modules; ++m) scanner.module_pair[m] = scanner.module_pair[m * modules] = -1;  // dead
  CHECK(symmetries(scanner, square) == 2);  // it lies on the x axis, so the mirror in y stays
}

TEST_CASE("the exact sensitivity has the symmetries that are found") {
  const auto scanner = make_scanner(two_layer_ring(16));
  const Grid blobs = blob_grid(20, 20, 12, 3);
  const auto check = [&](ListModeProjector& projector) {
    const Image exact = compute_sensitivity(*scanner, projector, enumerated).image;
    const auto group = detail::common_symmetries(*scanner, projector.grid());
    CHECK(group.count > 1);
    // Not to the last digit: of lines at 45 degrees Joseph's projector treats x and y differently.
    CHECK(true_error({.image = averaged(exact, group)}, exact) < 5e-4);
  };
  check(*make_joseph_projector(square, {}, Backend::cpu));
  check(*make_tor_projector(square, {.response = RadialResponse::gaussian(3.2f, 3.75f)}, Backend::cpu));
  check(*make_blob_projector(blobs, {}, Backend::cpu));
}

TEST_CASE("attenuation has no symmetry to be averaged over") {
  const auto scanner = make_scanner(two_layer_ring(16));
  const auto projector = make_joseph_projector(square, {}, Backend::cpu);
  const Image mu = cylinder_mu(square, 25);
  CHECK(compute_sensitivity(*scanner, *projector, sampled(0.1)).symmetries == 16);
  CHECK(compute_sensitivity(*scanner, *projector, sampled(0.1), &mu).symmetries == 1);
}

namespace {

/// A ring of detectors that record all pairs of modules alike, and events of a uniform cylinder in it.
struct CylinderScan {
  static constexpr float radius_mm = 34;
  Grid grid = Grid::centred(40, 40, 8, {2, 2, 2});
  Scanner scanner;
  std::vector<std::uint32_t> detector1, detector2;
  std::unique_ptr<ListModeProjector> projector = make_joseph_projector(grid, {}, Backend::cpu);

  CylinderScan() {
    std::vector<Vec3> positions;
    constexpr int sectors = 24, across = 12, rings = 8;
    for (int m = 0; m < sectors; ++m)
      for (int t = 0; t < across; ++t)
        for (int z = 0; z < rings; ++z) {
          const float angle = 6.2831853f * (static_cast<float>(m) + static_cast<float>(t) / across) / sectors;
          positions.push_back({90 * std::cos(angle), 90 * std::sin(angle), 2.1f * (static_cast<float>(z) - 3.5f)});
        }
    scanner.detectors = std::make_shared<DetectorTable>(positions);
    scanner.types = {{0, 0, sectors, across * rings, 1, 0}};
    draw_events(400'000);
  }

  void draw_events(int count) {
    const Image truth = cylinder();
    std::mt19937 random(3);
    std::uniform_int_distribution<std::uint32_t> any(0, static_cast<std::uint32_t>(scanner.detectors->size()) - 1);
    std::uniform_real_distribution<float> share(0, 2 * radius_mm * 1.5f);
    while (static_cast<int>(detector1.size()) < count) {
      std::vector<std::uint32_t> first, second;
      while (first.size() < 100'000) {
        const std::uint32_t a = any(random), b = any(random);
        if (!scanner.in_coincidence(a, b)) continue;
        first.push_back(std::max(a, b));
        second.push_back(std::min(a, b));
      }
      std::vector<float> expected(first.size());
      projector->forward(view(first, second), truth.voxels.data(), expected.data());
      for (std::size_t i = 0; i < first.size(); ++i)
        if (share(random) < expected[i]) {
          detector1.push_back(first[i]);
          detector2.push_back(second[i]);
        }
    }
  }

  EventView view(const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second) const {
    EventView events;
    events.count = static_cast<std::int64_t>(first.size());
    events.detectors = scanner.detectors->on(Memory::host);
    events.detector1 = first.data();
    events.detector2 = second.data();
    return events;
  }

  Image cylinder() const {
    Image image = Image::zeros(grid);
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i)
          if (std::hypot(grid.centre(i, j, k).x, grid.centre(i, j, k).y) < radius_mm)
            image.voxels[grid.index(i, j, k)] = 1;
    return image;
  }

  struct Level {
    double mean = 0;   // of the image
    double total = 0;  // of the image times the exact sensitivity
  };
  /// After so many updates; `corrected`: as the projectors do it.
  Level after(int updates, const Sensitivity& s, const Image& exact, bool corrected) const {
    Image x = Image::filled(grid, 1);
    const Image inverse = inverse_sensitivity(s.image);
    for (int k = 0; k < updates; ++k) {
      Image back = Image::zeros(grid);
      projector->em_step(view(detector1, detector2), x.voxels.data(), back.voxels.data());
      if (corrected) remove_sample_bias(s.noise, s.image, x, back);
      em_update(x, inverse, back, 1);
    }
    Level level;
    for (std::int64_t v = 0; v < x.voxels.size(); ++v) {
      const auto value = static_cast<double>(x.voxels[v]);
      level.mean += value / static_cast<double>(x.voxels.size());
      level.total += value * static_cast<double>(exact.voxels[v]);
    }
    return level;
  }
};

}  // namespace

TEST_CASE("a sampled sensitivity with an error of 3.4 % leaves the image's level where it is") {
  const CylinderScan scan;
  const Sensitivity exact = compute_sensitivity(scan.scanner, *scan.projector, enumerated);
  constexpr int updates = 9, seeds = 3;
  using Level = CylinderScan::Level;
  const Level truth = scan.after(updates, exact, exact.image, false);
  Level before, now;
  const auto add_bias = [&](Level& sum, const Level& level) {
    sum.mean += (level.mean / truth.mean - 1) / seeds;
    sum.total += (level.total / truth.total - 1) / seeds;
  };
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const SensitivitySettings settings{
        .exact_pairs = 0, .error = 0.034, .symmetric = false, .seed = seed, .replicate_pairs = 2000};
    const Sensitivity s = compute_sensitivity(scan.scanner, *scan.projector, settings);
    CHECK(s.relative_error > 0.032);
    add_bias(now, scan.after(updates, s, exact.image, true));
    add_bias(before, scan.after(updates, s, exact.image, false));
  }
  MESSAGE("total: without a correction " << 100 * before.total << " %, with it " << 100 * now.total
                                         << " %; mean: " << 100 * before.mean << " % and " << 100 * now.mean << " %");
  CHECK(before.total > 5e-3);
  CHECK(std::abs(now.total) < 1e-3);
  CHECK(before.mean > 5e-3);
  CHECK(std::abs(now.mean) < 3e-3);  // voxels' noise alone moves the mean of three such images by 2e-3
}
// SPDX-License-Identifier: Apache-2.0
