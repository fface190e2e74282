// Operators on images: each one's adjoint, alone and in a row, what it does to a point, and the same on CUDA.
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "kernels/kernel_basis/kernel_basis.hpp"
#include "kernels/operator/gaussian_operator.hpp"
#include "kernels/psf/psf_operator.hpp"
#include "kernels/warp/warp.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

const Grid few_voxels = Grid::centred(23, 19, 11, {4, 4.5f, 5});

Image noise_on(const Grid& grid, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Image image = Image::zeros(grid);
  for (float& v : image.voxels.span()) v = uniform(random);
  return image;
}

double dot_of(const Image& a, const Image& b) {
  double sum = 0;
  for (std::int64_t v = 0; v < a.voxels.size(); ++v)
    sum += static_cast<double>(a.voxels[v]) * static_cast<double>(b.voxels[v]);
  return sum;
}

double sum_of_voxels(const Image& image) {
  return dot_of(image, Image::filled(image.grid, 1));
}

ResolutionTable growing_table() {
  return ResolutionTable({{0, -20, {8, 8, 9}}, {40, -20, {14, 9, 10}}, {0, 20, {10, 10, 12}}, {60, 20, {16, 11, 14}}});
}

/// Widths that change from one slice to the next.
ResolutionTable restless_table() {
  std::vector<ResolutionPoint> points;
  for (double z_mm = -60; z_mm <= 60; z_mm += 3) {
    const double width = 8 + 4 * std::sin(z_mm);
    points.push_back({0, z_mm, {width, width, width}});
    points.push_back({50, z_mm, {width + 4, width, width + 1}});
  }
  return ResolutionTable(points);
}

DisplacementField twist(const Grid& grid) {
  DisplacementField field{Image::zeros(grid), Image::zeros(grid), Image::zeros(grid)};
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3 at = grid.centre(i, j, k);
        const std::int64_t v = grid.index(i, j, k);
        field[0].voxels[v] = -0.1f * at.y + 3 * std::sin(0.05f * at.z);
        field[1].voxels[v] = 0.1f * at.x;
        field[2].voxels[v] = 0.05f * at.x + 2;
      }
  return field;
}

struct NamedOperator {
  const char* name;
  std::shared_ptr<const ImageOperator> image_operator;
};

std::vector<NamedOperator> all_operators(Backend backend) {
  KernelBasisSettings kernel;
  kernel.neighbours = 20;
  kernel.window = 5;
  kernel.patch = 3;
  return {{"gaussian_psf", std::make_shared<GaussianOperator>(few_voxels, Vec3{9, 6, 12}, backend)},
          {"psf", std::make_shared<PsfOperator>(few_voxels, growing_table(), backend)},
          {"psf of one z", std::make_shared<PsfOperator>(
                               few_voxels, ResolutionTable({{0, 0, {8, 8, 9}}, {50, 0, {14, 9, 10}}}), backend)},
          {"psf of many z", std::make_shared<PsfOperator>(few_voxels, restless_table(), backend)},
          {"kernel_basis",
           std::make_shared<SparseOperator>(few_voxels, kernel_basis_rows(noise_on(few_voxels, 9), kernel), backend)},
          {"warp", std::make_shared<SparseOperator>(few_voxels, warp_rows(twist(few_voxels)), backend)}};
}

/// The largest difference over the largest value.
double largest_difference(const Image& a, const Image& b) {
  const auto x = a.voxels.to_vector(), y = b.voxels.to_vector();
  double most = 0, largest = 0;
  for (std::size_t v = 0; v < x.size(); ++v) {
    most = std::max(most, static_cast<double>(std::abs(x[v] - y[v])));
    largest = std::max(largest, static_cast<double>(std::abs(x[v])));
  }
  return most / largest;
}

}  // namespace

TEST_CASE("each operator's adjoint is exact, alone and in a row") {
  const auto operators = all_operators(Backend::cpu);
  const Image x = noise_on(few_voxels, 1), y = noise_on(few_voxels, 2);
  for (const auto& [name, each] : operators) {
    CAPTURE(name);
    const Image forward = each->forward(x);
    CHECK(dot_of(forward, y) == approx(dot_of(x, each->adjoint(y))).epsilon(1e-5));
    CHECK(largest_difference(forward, x) > 0.01);
    CHECK(each->forward(x).voxels.to_vector() == forward.voxels.to_vector());
  }
  Image there = x.to(Memory::host), back = y.to(Memory::host);
  for (const auto& each : operators) there = each.image_operator->forward(there);
  for (auto each = operators.rbegin(); each != operators.rend(); ++each) back = each->image_operator->adjoint(back);
  CHECK(dot_of(there, y) == approx(dot_of(x, back)).epsilon(1e-5));
}

TEST_CASE("image operators on CUDA equal the CPU's") {
  if (!gpu_or_skip()) return;
  const auto host = all_operators(Backend::cpu), device = all_operators(Backend::cuda);
  const Image x = noise_on(few_voxels, 3), there = x.to(Memory::device);
  for (std::size_t i = 0; i < host.size(); ++i) {
    CAPTURE(host[i].name);
    CHECK(largest_difference(host[i].image_operator->forward(x), device[i].image_operator->forward(there)) < 1e-6);
    CHECK(largest_difference(host[i].image_operator->adjoint(x), device[i].image_operator->adjoint(there)) < 1e-6);
    CHECK_THROWS_AS(device[i].image_operator->forward(x), std::invalid_argument);
    const auto once = device[i].image_operator->adjoint(there).voxels.to_vector();
    CHECK(once == device[i].image_operator->adjoint(there).voxels.to_vector());
  }
}

TEST_CASE("widths that reach over more voxels than shared memory holds are refused on CUDA") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(30, 30, 1, {1, 1, 1});
  const ResolutionTable table({{0, 0, {60, 60, 0}}});
  CHECK_NOTHROW(PsfOperator(grid, table, Backend::cpu));
  CHECK_THROWS_WITH_AS(PsfOperator(grid, table, Backend::cuda),
                       doctest::Contains("take larger voxels, or backend: cpu"), std::invalid_argument);
}

namespace {

struct Spread {
  double sum = 0;
  Vec3d mean;
  double radial_mm = 0, tangential_mm = 0, axial_mm = 0;  // FWHM of the second moments
};

// How far what a point at `at` became is spread: by its moments outwards from the axis, across, and along it.
Spread spread_of(const Image& image, Vec3d at) {
  const double r = std::hypot(at.x, at.y), c = r > 0 ? at.x / r : 1, s = r > 0 ? at.y / r : 0;
  Spread spread;
  double moments[3] = {};
  const Grid& grid = image.grid;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const double value = static_cast<double>(image.voxels[grid.index(i, j, k)]);
        const Vec3d d = grid.centre(i, j, k).as<double>() - at;
        spread.sum += value;
        spread.mean = spread.mean + value * d;
        moments[0] += value * std::pow(c * d.x + s * d.y, 2);
        moments[1] += value * std::pow(c * d.y - s * d.x, 2);
        moments[2] += value * d.z * d.z;
      }
  const auto fwhm = [&](double moment) { return 2.3548200450309493 * std::sqrt(moment / spread.sum); };
  spread.radial_mm = fwhm(moments[0]);
  spread.tangential_mm = fwhm(moments[1]);
  spread.axial_mm = fwhm(moments[2]);
  return spread;
}

// What a voxel at an index becomes.
Spread of_point(const ImageOperator& blur, int i, int j, int k) {
  Image point = Image::zeros(blur.grid());
  point.voxels[blur.grid().index(i, j, k)] = 1;
  return spread_of(blur.forward(point), blur.grid().centre(i, j, k).as<double>());
}

}  // namespace

TEST_CASE("psf makes a point as wide as the table says, in its own directions, and keeps its sum") {
  const ResolutionTable table({{0, 0, {4, 4, 5}}, {100, 0, {6, 4.5, 5.5}}, {200, 0, {9, 5, 7}}});
  Grid grid = Grid::centred(231, 61, 21, {2, 2, 2});
  grid.origin_mm.x = -20;  // from x = -20 to 440
  const PsfOperator blur(grid, table, Backend::cpu);
  const int middle_y = 30, middle_z = 10;
  struct Expected {
    int r_mm;
    Resolution fwhm;
  };
  for (const Expected& expected :
       {Expected{0, {4, 4, 5}}, {50, {5, 4.25, 5.25}}, {100, {6, 4.5, 5.5}}, {200, {9, 5, 7}}, {300, {9, 5, 7}}}) {
    CAPTURE(expected.r_mm);
    const Spread spread = of_point(blur, 10 + expected.r_mm / 2, middle_y, middle_z);
    CHECK(spread.sum == approx(1).epsilon(1e-5));
    CHECK(norm(spread.mean) < 1e-4);
    CHECK(spread.radial_mm == approx(expected.fwhm.radial_mm).epsilon(0.01));
    CHECK(spread.tangential_mm == approx(expected.fwhm.tangential_mm).epsilon(0.01));
    CHECK(spread.axial_mm == approx(expected.fwhm.axial_mm).epsilon(0.01));
  }
  // Off the axes of the voxels, which are no cubes.
  Grid turned = Grid::centred(61, 81, 21, {2, 1.5f, 2});
  turned.origin_mm = {12, 10, -20};  // its middle is at (72, 70, 0)
  const PsfOperator oblique(turned, ResolutionTable({{100.4, 0, {12, 5, 6}}}), Backend::cpu);
  const Spread spread = of_point(oblique, 30, 40, 10);
  CHECK(spread.radial_mm == approx(12).epsilon(0.01));
  CHECK(spread.tangential_mm == approx(5).epsilon(0.01));
  CHECK(spread.axial_mm == approx(6).epsilon(0.01));
}

TEST_CASE(
    "between two z of the table the variance is linear, beyond them constant; narrow points stay in their voxel") {
  const Grid grid = Grid::centred(41, 41, 41, {2, 2, 2});
  const PsfOperator blur(grid, ResolutionTable({{0, -10, {5, 5, 4}}, {0, 10, {9, 9, 8}}}), Backend::cpu);
  const auto between = [](double a, double b, double part) { return std::sqrt((1 - part) * a * a + part * b * b); };
  for (const auto& [k, part] : {std::pair{8, 0.0}, {15, 0.0}, {20, 0.5}, {22, 0.7}, {25, 1.0}, {30, 1.0}}) {
    CAPTURE(k);
    const Spread spread = of_point(blur, 20, 20, k);
    // Across, it is the mean over the slices that the point is blurred into.
    CHECK(spread.radial_mm == approx(between(5, 9, part)).epsilon(k < 11 || k > 29 || k == 20 ? 0.01 : 0.06));
    CHECK(spread.axial_mm == approx(between(4, 8, part)).epsilon(0.01));
  }
  const PsfOperator narrow(grid, ResolutionTable({{0, 0, {0, 0, 0}}}), Backend::cpu);
  const Image x = noise_on(grid, 4);
  CHECK(largest_difference(x, narrow.forward(x)) < 1e-5);
  for (const double fwhm : {2.0, 3.0}) {  // as wide as a voxel or little more
    const PsfOperator one(grid, ResolutionTable({{0, 0, {fwhm, fwhm, fwhm}}}), Backend::cpu);
    CHECK(of_point(one, 20, 20, 20).radial_mm == approx(fwhm).epsilon(0.01));
  }
}

TEST_CASE("psf of one width is the separable Gaussian, but for the weights of neighbours") {
  const Grid grid = Grid::centred(33, 33, 17, {1, 1, 3});
  const Image x = noise_on(grid, 5);
  const Image by_table = PsfOperator(grid, ResolutionTable({{0, 0, {7, 7, 8}}}), Backend::cpu).forward(x);
  const Image by_axes = GaussianOperator(grid, {7, 7, 8}, Backend::cpu).forward(x);
  // Sampled here, Lindeberg's there: of the same variance. The largest difference is at the border, which cuts them.
  CHECK(largest_difference(by_axes, by_table) < 0.01);
}

TEST_CASE("tables that cannot be, and weights that memory cannot hold, are refused") {
  CHECK_THROWS_WITH(ResolutionTable({}), doctest::Contains("without a point"));
  CHECK_THROWS_WITH(ResolutionTable({{-1, 0, {4, 4, 4}}}), doctest::Contains("must not be negative"));
  CHECK_THROWS_WITH(ResolutionTable({{1, 0, {4, -4, 4}}}), doctest::Contains("a width of -4 mm"));
  CHECK_THROWS_WITH(ResolutionTable({{1, std::nan(""), {4, 4, 4}}}), doctest::Contains("at r = 1 mm"));
  CHECK_THROWS_WITH(ResolutionTable({{1, 2, {4, 4, 4}}, {1, 2, {5, 5, 5}}}),
                    doctest::Contains("two points at r = 1 mm"));
  CHECK_THROWS_WITH(
      PsfOperator(Grid::centred(200, 200, 1, {0.1f, 0.1f, 1}), ResolutionTable({{0, 0, {90, 90, 0}}}), Backend::cpu),
      doctest::Contains("take larger voxels"));
}

namespace {

// Two halves of different value, without noise.
Image two_halves(const Grid& grid) {
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < image.voxels.size(); ++v)
    image.voxels[v] = v % grid.size[0] < grid.size[0] / 2 ? 1.0f : 3.0f;
  return image;
}

}  // namespace

TEST_CASE("a kernel basis averages over voxels alike in the anatomy, and does not cross its edges") {
  const Grid grid = Grid::centred(12, 9, 7, {2, 2, 3});
  const Image anatomy = two_halves(grid);
  KernelBasisSettings settings;
  settings.neighbours = 30;
  const SparseOperator basis(grid, kernel_basis_rows(anatomy, settings), Backend::cpu);
  const Image ones = Image::filled(grid, 1);
  CHECK(largest_difference(ones, basis.forward(ones)) < 1e-6);
  CHECK(largest_difference(anatomy, basis.forward(anatomy)) < 1e-6);
  const Image noise = noise_on(grid, 6), smooth = basis.forward(noise);
  const auto variance = [](const Image& image) {
    const double n = static_cast<double>(image.voxels.size()), mean = sum_of_voxels(image) / n;
    return dot_of(image, image) / n - mean * mean;
  };
  CHECK(variance(smooth) < 0.1 * variance(noise));
  settings.neighbours = 1;
  const SparseOperator same(grid, kernel_basis_rows(anatomy, settings), Backend::cpu);
  CHECK(same.forward(noise).voxels.to_vector() == noise.voxels.to_vector());
}

TEST_CASE("rows of a kernel basis are those of the definition") {
  const Grid grid = Grid::centred(5, 4, 3, {2, 2, 2});
  const Image anatomy = noise_on(grid, 7);
  KernelBasisSettings settings;
  settings.neighbours = 27;  // all of the window
  settings.window = 3;
  settings.sigma = 0.7;
  const SparseRows rows = kernel_basis_rows(anatomy, settings);
  double mean = sum_of_voxels(anatomy) / 60, squares = dot_of(anatomy, anatomy) / 60;
  const double variance = squares - mean * mean;
  const auto value = [&](std::int64_t v) { return static_cast<double>(anatomy.voxels[v]); };
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    double sum = 0, weighted = 0, row_sum = 0, row_weighted = 0;
    for (std::int64_t w = 0; w < grid.voxels(); ++w) {
      const auto away = [&](std::int64_t stride, int n) { return std::abs(v / stride % n - w / stride % n); };
      if (away(1, 5) > 1 || away(5, 4) > 1 || away(20, 3) > 1) continue;
      const double weight = std::exp(-std::pow(value(v) - value(w), 2) / (2 * 0.49 * variance));
      sum += weight;
      weighted += weight * static_cast<double>(w + 1);
    }
    for (std::int64_t e = rows.begin[v]; e < rows.begin[v + 1]; ++e) {
      row_sum += static_cast<double>(rows.weight[e]);
      row_weighted += static_cast<double>(rows.weight[e]) * (rows.column[e] + 1);
    }
    CHECK(row_sum == approx(1).epsilon(1e-6));
    CHECK(row_weighted == approx(weighted / sum).epsilon(1e-5));
  }
}

TEST_CASE("settings of a kernel basis that cannot be are refused") {
  const Grid grid = Grid::centred(5, 4, 3, {2, 2, 2});
  const auto refused = [&](KernelBasisSettings settings, const char* words) {
    CHECK_THROWS_WITH(kernel_basis_rows(noise_on(grid, 8), settings), doctest::Contains(words));
  };
  refused({.window = 4}, "window must be an odd number");
  refused({.patch = 9}, "patch must be an odd number");
  refused({.neighbours = 28, .window = 3}, "28 neighbours in a window of 3 voxels: it holds 27");
  refused({.sigma = 0}, "sigma must be positive");
  CHECK_THROWS_WITH(kernel_basis_rows(Image::filled(grid, 2), {}), doctest::Contains("is constant"));
  CHECK_THROWS_WITH(SparseOperator(few_voxels, kernel_basis_rows(noise_on(grid, 8), {}), Backend::cpu),
                    doctest::Contains("60 rows for an image of"));
}

TEST_CASE("a warp shows the estimate at p + u(p): exactly, where the estimate is linear") {
  const Grid grid = Grid::centred(20, 18, 16, {2, 2.5f, 3});
  Image linear = Image::zeros(grid);
  const auto at = [&](Vec3d p) { return 100 + 0.5 * p.x - 0.3 * p.y + 0.2 * p.z; };
  for (std::int64_t v = 0; v < linear.voxels.size(); ++v) {
    const Vec3 centre = grid.centre(static_cast<int>(v % 20), static_cast<int>(v / 20 % 18), static_cast<int>(v / 360));
    linear.voxels[v] = static_cast<float>(at(centre.as<double>()));
  }
  const DisplacementField field = twist(grid);
  const Image warped = SparseOperator(grid, warp_rows(field), Backend::cpu).forward(linear);
  int compared = 0;
  for (int k = 4; k < 12; ++k)
    for (int j = 5; j < 13; ++j)
      for (int i = 5; i < 15; ++i) {
        const std::int64_t v = grid.index(i, j, k);
        const Vec3d u = Vec3{field[0].voxels[v], field[1].voxels[v], field[2].voxels[v]}.as<double>();
        ++compared;
        CHECK(static_cast<double>(warped.voxels[v]) == approx(at(grid.centre(i, j, k).as<double>() + u)).epsilon(1e-5));
      }
  CHECK(compared == 640);
}

TEST_CASE("a warp by nothing is the image, by whole voxels moves it, and figures say what a field does") {
  const Grid grid = Grid::centred(8, 7, 6, {2, 2, 2});
  const Image x = noise_on(grid, 10);
  DisplacementField field{Image::zeros(grid), Image::zeros(grid), Image::zeros(grid)};
  CHECK(SparseOperator(grid, warp_rows(field), Backend::cpu).forward(x).voxels.to_vector() == x.voxels.to_vector());
  CHECK(warp_figures(field).largest_mm == 0);
  CHECK(warp_figures(field).folded == 0);
  field[0] = Image::filled(grid, 4);
  const Image moved = SparseOperator(grid, warp_rows(field), Backend::cpu).forward(x);
  for (int i = 0; i < 8; ++i)
    CHECK(moved.voxels[grid.index(i, 3, 3)] == (i + 2 < 8 ? x.voxels[grid.index(i + 2, 3, 3)] : 0.0f));
  CHECK(warp_figures(field).largest_mm == approx(4));
  CHECK(warp_figures(field).outside == approx(0.25));
  CHECK(warp_figures(field).folded == 0);
  for (int i = 0; i < 8; ++i)
    for (int rest = 0; rest < 42; ++rest) field[0].voxels[i + 8 * rest] = -4.0f * static_cast<float>(i);
  CHECK(warp_figures(field).folded == 1);
  field[1].voxels[5] = std::nanf("");
  CHECK_THROWS_WITH(warp_rows(field), doctest::Contains("not a finite number"));
  field[1] = Image::zeros(few_voxels);
  CHECK_THROWS_WITH(warp_rows(field), doctest::Contains("different grids"));
}
// SPDX-License-Identifier: Apache-2.0
