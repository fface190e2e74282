// The quadratic penalty and the update with it: closed forms, a reference in double precision, and the objective, which
// an update one step late raises if the penalty is weak.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/em/em_update.hpp"
#include "kernels/prior/quadratic_prior.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid uneven{{5, 4, 3}, {2, 3, 5}, {0, 0, 0}};

Image rough(const Grid& grid) {
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) image.voxels[v] = static_cast<float>((v * 7919) % 101) / 10;
  return image;
}

double weight(const Grid& grid, Neighbours neighbours, int di, int dj, int dk) {
  const int steps = std::abs(di) + std::abs(dj) + std::abs(dk);
  if (steps == 0 || (steps > 1 && neighbours == Neighbours::faces)) return 0;
  const Vec3d edges = grid.voxel_mm.as<double>();
  const double x = di * edges.x, y = dj * edges.y, z = dk * edges.z;
  return std::min({edges.x, edges.y, edges.z}) / std::sqrt(x * x + y * y + z * z);
}

/// U(x) by its definition, each pair once.
double penalty(const Grid& grid, Neighbours neighbours, const std::vector<double>& x) {
  double twice = 0;
  const auto at = [&](int i, int j, int k) { return x[static_cast<std::size_t>(grid.index(i, j, k))]; };
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        for (int c = std::max(k - 1, 0); c <= std::min(k + 1, grid.size[2] - 1); ++c)
          for (int b = std::max(j - 1, 0); b <= std::min(j + 1, grid.size[1] - 1); ++b)
            for (int a = std::max(i - 1, 0); a <= std::min(i + 1, grid.size[0] - 1); ++a)
              twice += weight(grid, neighbours, a - i, b - j, c - k) * std::pow(at(i, j, k) - at(a, b, c), 2) / 2;
  return twice / 2;
}

std::vector<double> in_double(const Image& image) {
  const auto values = image.voxels.to_vector();
  return {values.begin(), values.end()};
}

/// A central difference is exact for a quadratic.
double derivative(const Grid& grid, Neighbours neighbours, std::vector<double> x, std::size_t v) {
  const double step = 0.5;
  x[v] += step;
  const double above = penalty(grid, neighbours, x);
  x[v] -= 2 * step;
  return (above - penalty(grid, neighbours, x)) / (2 * step);
}

void check_gradient(Memory memory) {
  for (const Neighbours neighbours : {Neighbours::faces, Neighbours::all}) {
    const Image image = rough(uneven);
    const auto gradient = quadratic_gradient(image.to(memory), neighbours, 0.25).voxels.to_vector();
    for (std::size_t v = 0; v < gradient.size(); ++v)
      REQUIRE(gradient[v] == doctest::Approx(0.25 * derivative(uneven, neighbours, in_double(image), v)).epsilon(1e-5));
  }
}

Image row_of(const std::vector<float>& values) {
  return {Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)};
}

void check_prior_update(Memory memory) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Image inverse = row_of({0.25f, 0.5f, 0.5f, 0.5f, 0, 0.5f, 0.5f}).to(memory);
  const Image back = row_of({8, 2, 6, 6, 5, 3, 3}).to(memory);
  const Image gradient = row_of({4, -1, -1.9f, -1e30f, 7, std::nanf(""), infinity}).to(memory);
  Image x = row_of({1, 3, 5, 7, 9, 1, 1}).to(memory);
  const UpdateFaults faults = penalised_em_update(x, inverse, back, 0.5, {gradient, inverse});
  const auto values = x.voxels.to_vector();
  CHECK(values[0] == doctest::Approx(1 * 8 / (0.5 * (4 + 4))));
  CHECK(values[1] == doctest::Approx(3 * 2 / (0.5 * (2 - 1))));
  CHECK(values[2] == doctest::Approx(5 * 6 / (0.5 * 0.2)));  // a tenth of s = 2 in place of 0.1
  CHECK(values[3] == doctest::Approx(7 * 6 / (0.5 * 0.2)));  // s + g is negative
  CHECK(std::vector<float>(values.begin() + 4, values.end()) == std::vector<float>{0, 0, 0});
  CHECK(faults.limited == 3);
  CHECK(faults.not_finite == 2);

  // If a subset has its own sensitivity, it takes the same share of the gradient as of the sensitivity.
  const Image own = row_of({4, 2, 0, 0}).to(memory), whole = row_of({8, 8, 8, 0}).to(memory);
  const Image pull = row_of({8, -4, 5, 5}).to(memory), counts = row_of({8, 2, 3, 4}).to(memory);
  Image seen = row_of({1, 3, 5, 7}).to(memory);
  penalised_em_update(seen, inverse_sensitivity(own, whole), counts, 1, {pull, inverse_sensitivity(whole)});
  CHECK(seen.voxels.to_vector() == std::vector<float>{1, 6, 5, 0});
}

/// Counts of eight lines through four voxels, in a scan that a penalty should smooth.
struct Toy {
  std::vector<std::array<double, 4>> lines{{1, 0.2, 0, 0}, {0.1, 1, 0.3, 0}, {0, 0.4, 1, 0.1}, {0, 0, 0.2, 1},
                                           {1, 1, 0, 0},   {0, 1, 1, 0},     {0, 0, 1, 1},     {0.5, 0.5, 0.5, 0.5}};
  std::vector<double> counts{31, 4, 17, 2, 40, 9, 30, 21};

  Image sensitivity() const {
    Image s = row_of({0, 0, 0, 0});
    for (const auto& line : lines)
      for (std::size_t v = 0; v < 4; ++v) s.voxels[static_cast<std::int64_t>(v)] += static_cast<float>(line[v]);
    return s;
  }
  double expected(std::size_t i, const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t v = 0; v < 4; ++v) sum += lines[i][v] * x[v];
    return sum;
  }
  Image back_projection(const std::vector<double>& x) const {
    std::vector<float> sum(4);
    for (std::size_t i = 0; i < lines.size(); ++i)
      for (std::size_t v = 0; v < 4; ++v) sum[v] += static_cast<float>(lines[i][v] * counts[i] / expected(i, x));
    return row_of(sum);
  }
  /// The log-likelihood minus the penalty.
  double objective(const std::vector<double>& x, double beta) const {
    double sum = -beta * penalty(sensitivity().grid, Neighbours::all, x);
    for (std::size_t i = 0; i < lines.size(); ++i) sum += counts[i] * std::log(expected(i, x)) - expected(i, x);
    return sum;
  }
};

}  // namespace

TEST_CASE("the gradient of the quadratic penalty is that of its definition in double precision") {
  check_gradient(Memory::host);
}

TEST_CASE("the gradient of the quadratic penalty on CUDA is that of its definition in double precision") {
  if (gpu_or_skip()) check_gradient(Memory::device);
}

TEST_CASE("a voxel that differs by 1 from all around it pulls and is pulled by the weights of its neighbours") {
  Image image = Image::zeros(Grid::centred(3, 3, 3, {2, 2, 2}));
  image.voxels[image.grid.index(1, 1, 1)] = 1;
  const Image all = quadratic_gradient(image, Neighbours::all, 2);
  CHECK(all.voxels[all.grid.index(1, 1, 1)] == doctest::Approx(2 * (6 + 12 / std::sqrt(2.0) + 8 / std::sqrt(3.0))));
  CHECK(all.voxels[all.grid.index(0, 1, 1)] == doctest::Approx(-2));
  CHECK(all.voxels[all.grid.index(0, 0, 1)] == doctest::Approx(-2 / std::sqrt(2.0)));
  CHECK(all.voxels[all.grid.index(0, 0, 0)] == doctest::Approx(-2 / std::sqrt(3.0)));
  const Image faces = quadratic_gradient(image, Neighbours::faces, 2);
  CHECK(faces.voxels[all.grid.index(1, 1, 1)] == 12);
  CHECK(faces.voxels[all.grid.index(0, 0, 1)] == 0);
  const Image flat = quadratic_gradient(Image::filled(image.grid, 7), Neighbours::all, 2);
  CHECK(flat.voxels.to_vector() == std::vector<float>(27, 0));
}

TEST_CASE("a quadratic penalty is on voxels, and its strength a number") {
  Image blobs = Image::zeros(Grid::centred(3, 3, 3, {2, 2, 2}));
  CHECK_THROWS_AS(quadratic_gradient(blobs, Neighbours::all, -1), std::invalid_argument);
  CHECK_THROWS_AS(quadratic_gradient(blobs, Neighbours::all, std::nan("")), std::invalid_argument);
  blobs.grid.blob = {4, 8};
  CHECK_THROWS_WITH_AS(quadratic_gradient(blobs, Neighbours::all, 1), doctest::Contains("basis: voxels"),
                       std::invalid_argument);
}

TEST_CASE("the penalised update divides by sensitivity and gradient, and no voxel becomes negative or infinite") {
  check_prior_update(Memory::host);
}

TEST_CASE("the penalised update on CUDA does what the CPU does") {
  if (gpu_or_skip()) check_prior_update(Memory::device);
}

TEST_CASE("without a gradient the penalised update is the EM update, bit for bit") {
  const Image image = rough(uneven);
  Image sensitivity = rough(uneven);
  for (float& s : sensitivity.voxels.span()) s += 0.3f;
  const Image inverse = inverse_sensitivity(sensitivity), flat = Image::zeros(uneven);
  Image plain = image.to(Memory::host), penalised = image.to(Memory::host);
  em_update(plain, inverse, image, 0.3);
  const UpdateFaults faults = penalised_em_update(penalised, inverse, image, 0.3, {flat, inverse});
  CHECK(penalised.voxels.to_vector() == plain.voxels.to_vector());
  CHECK(faults.limited + faults.not_finite == 0);
  CHECK_THROWS_AS(penalised_em_update(penalised, inverse, image, 0.3, {row_of({1}), inverse}), std::invalid_argument);
  CHECK_THROWS_AS(penalised_em_update(penalised, inverse, image, 0, {flat, inverse}), std::invalid_argument);
}

TEST_CASE("a weak penalty: the likelihood less the penalty rises with each update, to where its gradient is zero") {
  const Toy toy;
  const double beta = 0.05;
  const Image sensitivity = toy.sensitivity(), inverse = inverse_sensitivity(sensitivity);
  Image x = row_of({9, 9, 9, 9}), free = row_of({9, 9, 9, 9});
  double objective = toy.objective(in_double(x), beta);
  for (int update = 0; update < 300; ++update) {
    const Image gradient = quadratic_gradient(x, Neighbours::all, beta);
    const UpdateFaults faults =
        penalised_em_update(x, inverse, toy.back_projection(in_double(x)), 1, {gradient, inverse});
    REQUIRE(faults.limited + faults.not_finite == 0);
    const double next = toy.objective(in_double(x), beta);
    CAPTURE(update);
    CHECK(next > objective - 1e-5);  // the resolution of floats
    if (update < 5) CHECK(next > objective);
    objective = next;
    em_update(free, inverse, toy.back_projection(in_double(free)), 1);
  }
  const std::vector<double> end = in_double(x);
  const Image gradient = quadratic_gradient(x, Neighbours::all, beta), back = toy.back_projection(end);
  for (std::int64_t v = 0; v < 4; ++v)
    CHECK(back.voxels[v] == doctest::Approx(sensitivity.voxels[v] + gradient.voxels[v]).epsilon(1e-3));
  const Grid& grid = sensitivity.grid;
  CHECK(penalty(grid, Neighbours::all, end) < 0.9 * penalty(grid, Neighbours::all, in_double(free)));
  CHECK(objective > toy.objective(in_double(free), beta));
}
// SPDX-License-Identifier: Apache-2.0
