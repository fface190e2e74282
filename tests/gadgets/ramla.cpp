// RAMLA's update: its arithmetic, and as a gadget with list mode and with a camera's views.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/ramla_update.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

std::shared_ptr<const Estimate>& newest_of_ramla() {
  static std::shared_ptr<const Estimate> newest;
  return newest;
}
struct KeepRamla {
  void process(std::shared_ptr<const Estimate> estimate) { newest_of_ramla() = std::move(estimate); }
};
TOFSTREAM_GADGET(KeepRamla, "test_keep_ramla", "Keeps the newest image");

/// Data without noise of a system matrix of random numbers, in `blocks` equal blocks.
struct RamlaSystem {
  static constexpr int voxels = 30, bins = 120;
  Grid grid = Grid::centred(voxels, 1, 1, {1, 1, 1});
  int blocks;
  std::vector<double> matrix, truth, data;  // [bin][voxel]

  explicit RamlaSystem(int in_blocks) : blocks(in_blocks) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int i = 0; i < bins * voxels; ++i) matrix.push_back(std::pow(uniform(random), 6));
    for (int j = 0; j < voxels; ++j) truth.push_back(j % 5 == 0 ? 20 : 1 + uniform(random));
    for (int b = 0; b < bins; ++b) data.push_back(expected(b, truth));
  }
  template <class Vector>
  double expected(int b, const Vector& x) const {
    double sum = 0;
    for (int j = 0; j < voxels; ++j)
      sum += matrix[static_cast<std::size_t>(b * voxels + j)] * static_cast<double>(x[static_cast<std::size_t>(j)]);
    return sum;
  }
  /// Updates x with a block; returns nothing that a test needs.
  void update(Image& x, int block, double relaxation) const {
    Image s = Image::zeros(grid, Memory::host), back = Image::zeros(grid, Memory::host);
    for (int b = block; b < bins; b += blocks) {
      const double ratio = data[static_cast<std::size_t>(b)] / expected(b, x.voxels.span());
      for (int j = 0; j < voxels; ++j) {
        const auto a = static_cast<float>(matrix[static_cast<std::size_t>(b * voxels + j)]);
        s.voxels[j] += a;
        back.voxels[j] += a * static_cast<float>(ratio);
      }
    }
    CHECK(ramla_update(x, {s, inverse_sensitivity(s), back, largest_sensitivity(s)}, relaxation) == 0);
  }
  double log_likelihood(const Image& x) const {
    double sum = 0;
    for (int b = 0; b < bins; ++b) {
      const double h = expected(b, x.voxels.span());
      sum += data[static_cast<std::size_t>(b)] * std::log(h) - h;
    }
    return sum;
  }
  double distance(const Image& x) const {
    double sum = 0;
    for (int j = 0; j < voxels; ++j)
      sum += std::pow(static_cast<double>(x.voxels[j]) - truth[static_cast<std::size_t>(j)], 2);
    return std::sqrt(sum);
  }
};

Image a_voxel(float value) {
  return Image::filled(Grid::centred(1, 1, 1, {1, 1, 1}), value, Memory::host);
}

}  // namespace

TEST_CASE("RAMLA with one block: the likelihood never falls, and the image comes nearer to the truth") {
  const RamlaSystem system(1);
  Image x = Image::filled(system.grid, 1, Memory::host);
  const double far = system.distance(x);
  double before = system.log_likelihood(x);
  for (int k = 0; k < 200; ++k) {
    system.update(x, 0, 1);
    const double now = system.log_likelihood(x);
    CHECK(now >= before - 1e-4);  // rounding of float images
    before = now;
  }
  CHECK(system.distance(x) < 0.2 * far);
}

TEST_CASE("block RAMLA stays positive with a relaxation of 1, and converges where data have no noise") {
  const RamlaSystem system(12);
  Image x = Image::filled(system.grid, 1, Memory::host);
  const double far = system.distance(x);
  for (int k = 0; k < 60; ++k)
    for (int block = 0; block < system.blocks; ++block) {
      system.update(x, block, 1);
      for (const float value : x.voxels.span()) CHECK(value >= 0);
    }
  CHECK(system.distance(x) < 0.05 * far);
}

TEST_CASE("RAMLA's step is relaxation / max s, of x (back - s T_k / T) / (T_k / T)") {
  Image x = Image::filled(Grid::centred(2, 1, 1, {1, 1, 1}), 2, Memory::host);
  Image s(x), back(x);
  s.voxels[0] = 4;
  s.voxels[1] = 1;
  back.voxels[0] = 3;
  back.voxels[1] = 1.5f;
  ramla_update(x, {s, inverse_sensitivity(s), back, 4, 0.5}, 0.8);
  const double step = 0.8 / (4 * 0.5);
  CHECK(static_cast<double>(x.voxels[0]) == approx(2 + step * 2 * (3 - 4 * 0.5)));
  CHECK(static_cast<double>(x.voxels[1]) == approx(2 + step * 2 * (1.5 - 1 * 0.5)));
}

TEST_CASE("RAMLA refuses a relaxation or a largest sensitivity out of range, and images of another grid") {
  Image x = a_voxel(1);
  const Image one = a_voxel(1), another = Image::filled(Grid::centred(2, 1, 1, {1, 1, 1}), 1, Memory::host);
  for (const double relaxation : {0.0, 1.01, -1.0, std::nan("")})
    CHECK_THROWS_WITH_AS(ramla_update(x, {one, one, one, 1}, relaxation),
                         doctest::Contains("relaxation must be in (0, 1]"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(ramla_update(x, {one, one, another, 1}, 1), doctest::Contains("another grid"),
                       std::invalid_argument);
  for (const float largest : {0.0f, -1.0f, std::nanf(""), INFINITY})
    CHECK_THROWS_WITH_AS(ramla_update(x, {one, one, one, largest}, 1),
                         doctest::Contains("needs the largest sensitivity, finite and positive"),
                         std::invalid_argument);
  CHECK_THROWS_WITH_AS(largest_sensitivity(a_voxel(0)), doctest::Contains("zero everywhere"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(largest_sensitivity(a_voxel(std::nanf(""))), doctest::Contains("not finite"),
                       std::invalid_argument);
}

TEST_CASE("ramla_update takes the subsets of list mode and of a camera's views") {
  const TemporaryFolder folder;
  const char* const list_mode = R"(
backend: cpu
scanner: demo_ring
image: {size: [40, 40, 16], voxel_mm: [6, 6, 6]}
gadgets:
  photons:   {use: simulator, phantom: uniform_cylinder, events: 50000, attenuation: false}
  sorted:    {use: tof_partition, from: photons}
  subsets:   {use: subset_builder, from: sorted, subsets: 4, iterations: 2}
  projected: {use: tor_projector, from: {events: subsets, image: estimate},
              sensitivity: {exact_pairs: 0, sampled_pairs: 200000, cache: false}}
)";
  const char* const views = R"(
backend: cpu
scanner: spect_lehr
image: {size: [32, 32, 32], voxel_mm: 17.6}
gadgets:
  photons:   {use: spect_simulator, events: 20000}
  subsets:   {use: view_subsets, from: photons, subsets: 6, iterations: 2}
  projected: {use: rotation_projector, from: {views: subsets, image: estimate}}
)";
  for (const char* const data : {list_mode, views}) {
    newest_of_ramla() = nullptr;
    const std::string pipeline = std::string(data) +
                                 "  estimate: {use: ramla_update, from: projected, relaxation: 1, decay: 0.5}\n"
                                 "  kept: {use: test_keep_ramla, from: estimate}\n";
    const RunReport report = Engine(parse_pipeline(pipeline, "test.yaml"),
                                    {.output_dir = folder.path(), .earlier_run = EarlierRun::overwrite})
                                 .run();
    REQUIRE(report.exit_code == 0);
    CHECK(report.books.balanced());
    const auto estimate = std::ranges::find(report.gadgets, "estimate", &GadgetReport::name);
    CHECK(std::get<double>(estimate->figures.at("relaxation")) == approx(1 / 1.5));
    REQUIRE(newest_of_ramla());
    double sum = 0;
    for (const float value : newest_of_ramla()->image->voxels.span()) {
      CHECK(value >= 0);
      sum += static_cast<double>(value);
    }
    CHECK(sum > 0);
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
