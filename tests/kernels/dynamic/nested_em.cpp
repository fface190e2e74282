// Nested EM: what it is where frames or functions are few, a likelihood that never falls, a reference in double
// precision, the GPU against the CPU, and what cannot be.
#include "kernels/dynamic/nested_em.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/em/em_update.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

Image row_of_voxels(const std::vector<float>& values) {
  Image image = Image::zeros(Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}));
  std::ranges::copy(values, image.voxels.data());
  return image;
}

Image random_row(int voxels, unsigned seed, float low = 0.2f, float high = 2) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(voxels));
  for (float& value : values) value = std::uniform_real_distribution<float>(low, high)(engine);
  return row_of_voxels(values);
}

/// A toy scan: `lines` lines through the voxels, frames with counts on each line.
struct ToyScan {
  static constexpr int voxels = 5, lines = 9, frames = 4;
  double matrix[lines][voxels];
  double counts[frames][lines];
  std::vector<double> seconds = {1, 2, 3, 4};
  std::vector<std::vector<double>> functions = {{0.1, 1}, {0.4, 0.8}, {0.9, 0.5}, {1.7, 0.3}};

  explicit ToyScan(unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> uniform(0.05, 1);
    double truth[2][voxels];
    for (auto& row : matrix)
      for (double& value : row) value = uniform(engine);
    for (auto& row : truth)
      for (double& value : row) value = 20 * uniform(engine);
    for (std::size_t f = 0; f < frames; ++f)
      for (int i = 0; i < lines; ++i) {
        double mean = 0;
        for (int j = 0; j < voxels; ++j)
          mean += matrix[i][j] * seconds[f] * (functions[f][0] * truth[0][j] + functions[f][1] * truth[1][j]);
        counts[f][i] = std::poisson_distribution<int>(mean)(engine);
      }
  }

  std::vector<float> sensitivity() const {
    std::vector<float> s(voxels);
    for (int j = 0; j < voxels; ++j)
      for (const auto& row : matrix) s[static_cast<std::size_t>(j)] += static_cast<float>(row[j]);
    return s;
  }
  double projected(const Image& image, int line) const {
    double sum = 0;
    for (int j = 0; j < voxels; ++j) sum += matrix[line][j] * static_cast<double>(image.voxels[j]);
    return sum;
  }
  // A^T(n / A x), which T_f of the expectation divides by T_f.
  Image back_projection(std::size_t frame, const Image& image) const {
    std::vector<float> back(voxels);
    for (int i = 0; i < lines; ++i)
      for (int j = 0; j < voxels; ++j)
        back[static_cast<std::size_t>(j)] += static_cast<float>(matrix[i][j] * counts[frame][i] / projected(image, i));
    return row_of_voxels(back);
  }
  double log_likelihood(const std::vector<Image>& theta) const {
    double sum = 0;
    for (std::size_t f = 0; f < frames; ++f) {
      const Image image = frame_image(theta, functions[f]);
      for (int i = 0; i < lines; ++i) {
        const double mean = seconds[f] * projected(image, i);
        sum += counts[f][i] * std::log(mean) - mean;
      }
    }
    return sum;
  }
};

}  // namespace

TEST_CASE("nested EM with one constant function is the EM update of all frames' data") {
  const Image inverse = random_row(37, 1), first = random_row(37, 2), second = random_row(37, 3);
  std::vector<Image> theta = {random_row(37, 4)};
  Image expected = theta[0], both = first;
  for (std::int64_t v = 0; v < 37; ++v) both.voxels[v] += second.voxels[v];
  em_update(expected, inverse, both, 3.5);
  const std::vector<NestedFrame> frames = {{first, {1}, 1.5}, {second, {1}, 2}};
  CHECK(nested_em_update(theta, frames, inverse, {}) == 0);
  for (std::int64_t v = 0; v < 37; ++v) CHECK(theta[0].voxels[v] == approx(expected.voxels[v]).epsilon(1e-6));
}

TEST_CASE("nested EM with a function for each frame is EM of each frame by itself, after any number of inner steps") {
  for (const int inner : {1, 7}) {
    const Image inverse = random_row(20, 1), first = random_row(20, 2), second = random_row(20, 3);
    std::vector<Image> theta = {random_row(20, 4), random_row(20, 5)};
    std::vector<Image> expected = theta;
    em_update(expected[0], inverse, first, 1.5);
    em_update(expected[1], inverse, second, 2);
    const std::vector<NestedFrame> frames = {{first, {1, 0}, 1.5}, {second, {0, 1}, 2}};
    nested_em_update(theta, frames, inverse, {.inner = inner});
    for (std::size_t m = 0; m < 2; ++m)
      for (std::int64_t v = 0; v < 20; ++v) CHECK(theta[m].voxels[v] == approx(expected[m].voxels[v]).epsilon(1e-5));
  }
}

TEST_CASE("the log-likelihood of all frames never falls, and more inner steps raise it sooner") {
  const ToyScan scan(3);
  const Image inverse = inverse_sensitivity(row_of_voxels(scan.sensitivity()), 0);
  std::vector<double> reached;
  for (const int inner : {1, 20}) {
    std::vector<Image> theta(2, Image::filled(inverse.grid, 8));
    double before = scan.log_likelihood(theta);
    for (int iteration = 0; iteration < 12; ++iteration) {
      std::vector<Image> backs;
      for (std::size_t f = 0; f < ToyScan::frames; ++f)
        backs.push_back(scan.back_projection(f, frame_image(theta, scan.functions[f])));
      std::vector<NestedFrame> frames;
      for (std::size_t f = 0; f < ToyScan::frames; ++f)
        frames.push_back({backs[f], scan.functions[f], scan.seconds[f]});
      nested_em_update(theta, frames, inverse, {.inner = inner});
      const double after = scan.log_likelihood(theta);
      CHECK(after > before - 1e-6 * std::abs(before));
      before = after;
    }
    reached.push_back(before);
  }
  CHECK(reached[1] > reached[0]);
}

TEST_CASE("nested EM is that of the paper in double precision, from an image that is no sum of the functions too") {
  constexpr int voxels = 19, functions = 3;
  constexpr int frames = 6;
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> uniform(0.1, 2);
  const Image inverse = random_row(voxels, 1);
  std::vector<Image> theta, backs;
  for (unsigned m = 0; m < functions; ++m) theta.push_back(random_row(voxels, 10 + m));
  for (unsigned f = 0; f < frames; ++f) backs.push_back(random_row(voxels, 20 + f));
  std::vector<NestedFrame> data;
  for (std::size_t f = 0; f < frames; ++f)
    data.push_back({backs[f], {uniform(engine), uniform(engine), uniform(engine)}, f == 2 ? 0 : uniform(engine)});
  for (const bool is_uniform : {false, true}) {
    CAPTURE(is_uniform);
    std::vector<Image> updated = theta;
    NestedEmSettings settings{.inner = 4};
    if (is_uniform) settings.uniform = 1.3f;
    REQUIRE(nested_em_update(updated, data, inverse, settings) == 0);
    for (std::int64_t v = 0; v < voxels; ++v) {
      double now[functions], em[frames], norm[functions] = {};
      for (std::size_t m = 0; m < functions; ++m) now[m] = static_cast<double>(theta[m].voxels[v]);
      for (std::size_t f = 0; f < frames; ++f) {  // EM's image of the frame, times T_f
        double x = 0;
        for (std::size_t m = 0; m < functions; ++m) x += data[f].functions[m] * now[m];
        em[f] = (is_uniform ? 1.3 : x) * static_cast<double>(backs[f].voxels[v] * inverse.voxels[v]);
        for (std::size_t m = 0; m < functions; ++m) norm[m] += data[f].time_fraction * data[f].functions[m];
      }
      for (int step = 0; step < 4; ++step) {
        double sum[functions] = {};
        for (std::size_t f = 0; f < frames; ++f) {
          if (data[f].time_fraction == 0) continue;
          double x = 0;
          for (std::size_t m = 0; m < functions; ++m) x += data[f].functions[m] * now[m];
          for (std::size_t m = 0; m < functions; ++m) sum[m] += data[f].functions[m] * em[f] / x;
        }
        for (std::size_t m = 0; m < functions; ++m) now[m] *= sum[m] / norm[m];
      }
      for (std::size_t m = 0; m < functions; ++m) CHECK(updated[m].voxels[v] == approx(now[m]).epsilon(1e-5));
    }
  }
}

TEST_CASE("voxels that nothing sees become 0, and a value that is not finite is counted") {
  const Image inverse = row_of_voxels({0, 1, 1, 1}), back = row_of_voxels({1, 1, 0, 3e38f});
  std::vector<Image> theta = {row_of_voxels({1, 1, 1, 10})};
  const std::vector<NestedFrame> frames = {{back, {1}, 1}};
  CHECK(nested_em_update(theta, frames, inverse, {.inner = 2}) == 1);
  CHECK(theta[0].voxels.to_vector() == std::vector<float>{0, 1, 0, 0});
}

TEST_CASE("nested EM: CPU and GPU agree") {
  if (!gpu_or_skip()) return;
  for (int functions = 1; functions <= most_functions; ++functions) {
    constexpr int voxels = 10'007;
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> uniform(0, 2);
    const Image inverse = random_row(voxels, 1, 0, 2);
    std::vector<Image> theta, on_device, backs;
    for (int m = 0; m < functions; ++m) theta.push_back(random_row(voxels, static_cast<unsigned>(10 + m)));
    for (const Image& image : theta) on_device.push_back(image.to(Memory::device));
    std::vector<NestedFrame> here, there;
    constexpr int frames = 11;
    for (int f = 0; f < frames; ++f) backs.push_back(random_row(voxels, static_cast<unsigned>(40 + f)));
    std::vector<Image> device_backs;
    for (const Image& image : backs) device_backs.push_back(image.to(Memory::device));
    for (std::size_t f = 0; f < frames; ++f) {
      std::vector<double> means;
      for (int m = 0; m < functions; ++m) means.push_back(uniform(engine));
      here.push_back({backs[f], means, 1.0 + static_cast<double>(f)});
      there.push_back({device_backs[f], means, 1.0 + static_cast<double>(f)});
    }
    const NestedEmSettings settings{.inner = 5};
    CHECK(nested_em_update(theta, here, inverse, settings) == 0);
    CHECK(nested_em_update(on_device, there, inverse.to(Memory::device), settings) == 0);
    for (std::size_t m = 0; m < theta.size(); ++m) {
      const std::vector<float> of_device = on_device[m].voxels.to_vector();
      double worst = 0;
      for (std::int64_t v = 0; v < voxels; ++v)
        worst =
            std::max(worst, static_cast<double>(std::abs(of_device[static_cast<std::size_t>(v)] - theta[m].voxels[v]) /
                                                std::max(theta[m].voxels[v], 1e-3f)));
      CHECK(worst < 1e-4);
    }
  }
}

TEST_CASE("nested EM refuses what it cannot be made of") {
  const Image ones = row_of_voxels({1, 1}), other = row_of_voxels({1, 1, 1});
  const auto refused = [&](std::size_t coefficients, std::vector<NestedFrame> frames, const char* words,
                           NestedEmSettings settings = {}) {
    std::vector<Image> theta(coefficients, ones);
    CHECK_THROWS_WITH(nested_em_update(theta, frames, ones, settings), doctest::Contains(words));
  };
  refused(0, {}, "1 to 8 functions, not 0");
  refused(9, {}, "1 to 8 functions, not 9");
  refused(1, {{ones, {1}, 1}}, "at least one inner step", {.inner = 0});
  refused(1, {{ones, {1, 2}, 1}}, "a finite value of each function");
  refused(1, {{ones, {-1}, 1}}, "none can be negative");
  refused(1, {{ones, {std::numeric_limits<double>::quiet_NaN()}, 1}}, "a finite value of each function");
  refused(1, {{ones, {1}, -1}}, "share of the scan time");
  refused(2, {{ones, {1, 0}, 1}}, "0 in all frames");
  refused(1, {{ones, {1}, 0}}, "0 in all frames");
  refused(1, {{other, {1}, 1}}, "another grid");
  refused(1, {{ones, {1}, 1}}, "uniform image must be finite and positive", {.uniform = 0.0f});
}
// SPDX-License-Identifier: Apache-2.0
