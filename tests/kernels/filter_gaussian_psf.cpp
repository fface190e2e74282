// The Gaussian resolution model: its weights, impulse response, adjoint and totals.
#include <random>

#include "kernels/filter/gaussian_psf.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

Image random_image(const Grid& grid, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Image image = Image::zeros(grid);
  for (float& v : image.voxels.span()) v = uniform(random);
  return image;
}

double inner(const Image& a, const Image& b) {
  double sum = 0;
  for (std::int64_t v = 0; v < a.voxels.size(); ++v)
    sum += static_cast<double>(a.voxels[v]) * static_cast<double>(b.voxels[v]);
  return sum;
}

/// The definition: a triple sum in double precision.
Image blurred_by_definition(const Image& image, const std::vector<float> (&w)[3]) {
  Image result = Image::zeros(image.grid);
  const int* n = image.grid.size;
  const auto weight = [&](int axis, int distance) {
    const auto d = static_cast<std::size_t>(std::abs(distance));
    return d < w[axis].size() ? static_cast<double>(w[axis][d]) : 0.0;
  };
  for (int k = 0; k < n[2]; ++k)
    for (int j = 0; j < n[1]; ++j)
      for (int i = 0; i < n[0]; ++i) {
        double sum = 0;
        for (int c = 0; c < n[2]; ++c)
          for (int b = 0; b < n[1]; ++b)
            for (int a = 0; a < n[0]; ++a)
              sum += weight(0, a - i) * weight(1, b - j) * weight(2, c - k) *
                     static_cast<double>(image.voxels[image.grid.index(a, b, c)]);
        result.voxels[image.grid.index(i, j, k)] = static_cast<float>(sum);
      }
  return result;
}

const Grid odd_grid = Grid::centred(19, 7, 5, {2, 3, 4});
constexpr Vec3 odd_fwhm = {7, 5, 30};
constexpr double per_fwhm = 0.42466090014400953;

}  // namespace

TEST_CASE("Gaussian weights have unit sum and the variance asked for, also below a voxel") {
  for (const double sigma : {0.05, 0.2, 0.5, 1.0, 2.5, 10.0, 100.0, 1000.0}) {
    CAPTURE(sigma);
    const std::vector<float> w = gaussian_weights(sigma);
    double sum = static_cast<double>(w[0]), second = 0;
    for (std::size_t n = 1; n < w.size(); ++n) {
      REQUIRE(w[n] > 0);
      REQUIRE(w[n] <= w[n - 1]);
      sum += 2 * static_cast<double>(w[n]);
      second += 2 * static_cast<double>(w[n]) * static_cast<double>(n * n);
    }
    CHECK(sum == approx(1).epsilon(1e-6));
    // The tail that is cut, 1e-5 of the sum, has a part of a narrow one's variance that shows.
    CHECK(std::abs(second - sigma * sigma) < 5e-4 * sigma * sigma + (sigma < 0.5 ? 3e-5 : 0));
    CHECK(static_cast<double>(w.size() - 1) >= 4 * sigma);
  }
  const std::vector<float> wide = gaussian_weights(10);
  for (std::size_t n = 0; n < wide.size(); ++n) {
    const double x = static_cast<double>(n) / 10;
    CHECK(std::abs(static_cast<double>(wide[n]) - 0.039894228 * std::exp(-x * x / 2)) < 1e-4);
  }
  CHECK(gaussian_weights(0) == std::vector<float>{1});
}

TEST_CASE("weights are e^-t I_n(t)") {
  const std::vector<float> w = gaussian_weights(std::sqrt(1.7));
  for (unsigned n = 0; n < 5; ++n)
    CHECK(static_cast<double>(w[n]) == approx(std::exp(-1.7) * std::cyl_bessel_i(n, 1.7)).epsilon(2e-5));
}

TEST_CASE("a shorter tail keeps more weights, and makes Gaussians add up better") {
  const auto twice = [](double tail) {
    const std::vector<float> small = gaussian_weights(1.5, tail), large = gaussian_weights(std::sqrt(4.5), tail);
    double error = 0;
    const int reach = static_cast<int>(small.size()) - 1;
    for (int n = 0; n <= 2 * reach; ++n) {
      double sum = 0;
      for (int i = -reach; i <= reach; ++i)
        if (std::abs(n - i) <= reach)
          sum += static_cast<double>(small[static_cast<std::size_t>(std::abs(i))]) *
                 static_cast<double>(small[static_cast<std::size_t>(std::abs(n - i))]);
      const bool is_kept = n < static_cast<int>(large.size());
      error =
          std::max(error, std::abs(sum - (is_kept ? static_cast<double>(large[static_cast<std::size_t>(n)]) : 0.0)));
    }
    return error;
  };
  CHECK(gaussian_weights(1.5, 1e-5) == gaussian_weights(1.5));
  CHECK(gaussian_weights(1.5, 1e-7).size() > gaussian_weights(1.5).size());
  CHECK(twice(1e-7) < 1e-7);
  for (const double tail : {0.0, -1e-5, 0.02, std::nan("")})
    CHECK_THROWS_AS(gaussian_weights(1.5, tail), std::invalid_argument);
}

TEST_CASE("the Gaussian equals its definition, zero outside the image") {
  const Image image = random_image(odd_grid, 2);
  const std::vector<float> w[3] = {gaussian_weights(per_fwhm * 3.5), gaussian_weights(per_fwhm * 5 / 3),
                                   gaussian_weights(per_fwhm * 7.5)};
  const Image expected = blurred_by_definition(image, w);
  Image blurred = image.to(Memory::host);
  GaussianPsf(odd_grid, odd_fwhm, Backend::cpu).apply(blurred);
  for (std::int64_t v = 0; v < blurred.voxels.size(); ++v)
    REQUIRE(std::abs(blurred.voxels[v] - expected.voxels[v]) < 1e-6f);
}

TEST_CASE("the Gaussian is its own adjoint") {
  const Grid grid = Grid::centred(70, 33, 21, {2, 2, 3});
  GaussianPsf psf(grid, {5, 6, 12}, Backend::cpu);
  const Image x = random_image(grid, 3), y = random_image(grid, 4);
  Image gx = x.to(Memory::host), gy = y.to(Memory::host);
  psf.apply(gx);
  psf.apply(gy);
  CHECK(inner(gx, y) == approx(inner(x, gy)).epsilon(1e-6));
}

TEST_CASE("an impulse keeps its total and becomes a Gaussian of the FWHM asked for") {
  const Grid grid = Grid::centred(81, 81, 81, {1, 1, 1});
  Image image = Image::zeros(grid);
  image.voxels[grid.index(40, 40, 40)] = 1000;
  GaussianPsf(grid, {8, 10, 0}, Backend::cpu).apply(image);
  double total = 0, xx = 0, yy = 0, zz = 0;
  for (int k = 0; k < 81; ++k)
    for (int j = 0; j < 81; ++j)
      for (int i = 0; i < 81; ++i) {
        const double v = static_cast<double>(image.voxels[grid.index(i, j, k)]);
        total += v;
        xx += v * (i - 40) * (i - 40);
        yy += v * (j - 40) * (j - 40);
        zz += v * (k - 40) * (k - 40);
      }
  CHECK(total == approx(1000).epsilon(1e-5));
  CHECK(std::sqrt(xx / total) / per_fwhm == approx(8).epsilon(1e-3));
  CHECK(std::sqrt(yy / total) / per_fwhm == approx(10).epsilon(1e-3));
  CHECK(zz == 0);
  const float half = image.voxels[grid.index(44, 40, 40)] / image.voxels[grid.index(40, 40, 40)];
  CHECK(half == approx(0.488).epsilon(0.001));  // of the discrete Gaussian I_4(t) / I_0(t), t = (8 / 2.355)^2
}

TEST_CASE("a width of 0 changes nothing; widths and grids that cannot be are refused") {
  const Image image = random_image(odd_grid, 5);
  Image same = image.to(Memory::host);
  GaussianPsf none(odd_grid, {0, 0, 0}, Backend::cpu);
  none.apply(same);
  CHECK(none.is_identity());
  CHECK(same.voxels.to_vector() == image.voxels.to_vector());
  for (const float bad : {-1.0f, std::nanf(""), INFINITY, 1e9f})
    CHECK_THROWS_AS(GaussianPsf(odd_grid, {4, bad, 4}, Backend::cpu), std::invalid_argument);
  Image other = Image::zeros(Grid::centred(3, 3, 3, {1, 1, 1}));
  CHECK_THROWS_AS(none.apply(other), std::invalid_argument);
}

TEST_CASE("the Gaussian on CUDA equals the CPU's") {
  if (!gpu_or_skip()) return;
  for (const Vec3 fwhm : {odd_fwhm, Vec3{0, 4, 0}, Vec3{0, 0, 0}}) {
    Image cpu = random_image(odd_grid, 6);
    Image cuda = cpu.to(Memory::device);
    GaussianPsf(odd_grid, fwhm, Backend::cpu).apply(cpu);
    GaussianPsf on_device(odd_grid, fwhm, Backend::cuda);
    on_device.apply(cuda);
    const std::vector<float> values = cuda.voxels.to_vector();
    for (std::int64_t v = 0; v < cpu.voxels.size(); ++v)
      REQUIRE(std::abs(cpu.voxels[v] - values[static_cast<std::size_t>(v)]) < 1e-6f);
  }
}
// SPDX-License-Identifier: Apache-2.0
