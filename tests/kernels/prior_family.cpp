// All priors: derivatives against central differences, symmetries, and the surrogate that lies above. Turned images are in
// prior_turned.cpp.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "kernels/prior/chosen_neighbours.hpp"
#include "kernels/prior/prior.hpp"
#include "tests/kernels/prior_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::prior_test;

namespace {

const std::array<int, 3> uneven_size = {5, 4, 3};
const std::array<double, 3> uneven_edges = {2, 3, 5};
const Grid uneven{{5, 4, 3}, {2, 3, 5}, {0, 0, 0}};

/// Positive numbers, so that relative differences have derivatives everywhere.
std::vector<double> positive_numbers() {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.5, 10);
  std::vector<double> x(60);
  for (double& value : x) value = uniform(random);
  return x;
}

/// A prior in double precision, as a function of the image.
struct InDouble {
  std::function<double(const std::vector<double>&)> value;
  std::function<std::vector<double>(const std::vector<double>&)> gradient, hessian, majorant;
  double least_ratio;
};

InDouble in_double_precision(const Potential& potential) {
  const auto sums = [potential](const std::vector<double>& x, auto part) {
    const auto arrays = arrays_of(x, uneven_size, weights_of(uneven_edges, 0.75));
    return std::visit([&](const auto& psi) { return sums_of(arrays, part, psi); }, potential);
  };
  return {[=](const auto& x) { return total(sums(x, detail::HalfValue{})); },
          [=](const auto& x) { return sums(x, detail::Slope{}); },
          [=](const auto& x) { return sums(x, detail::Curvature{}); },
          [=](const auto& x) { return sums(x, detail::Majorant{}); },
          static_cast<double>(std::visit([](const auto& psi) { return psi.least_ratio; }, potential))};
}

/// An anatomy with differences well below and well above 1, of which eta is a half.
const std::vector<double>& anatomy_numbers() {
  static const std::vector<double> all = [] {
    std::mt19937 random(11);
    std::normal_distribution<double> normal(0, 2);
    std::vector<double> a(60);
    for (std::size_t v = 0; v < a.size(); ++v) a[v] = (v % 5 < 2 ? 0 : 40) + (v % 7 < 3 ? 0.01 : 1) * normal(random);
    return a;
  }();
  return all;
}

template <class Edges>
InDouble in_double_on_gradients(Edges edges) {
  const auto sums = [edges](const std::vector<double>& x, auto part) {
    return sums_of(detail::TotalVariationArrays<double, Edges>{.image = x.data(),
                                                               .size = {5, 4, 3},
                                                               .beta = 0.75,
                                                               .epsilon = 0.5,
                                                               .scales = {1, 2 / 3.0, 2 / 5.0},
                                                               .edges = edges},
                   part);
  };
  return {[=](const auto& x) { return total(sums(x, detail::HalfValue{})); },
          [=](const auto& x) { return sums(x, detail::Slope{}); },
          [=](const auto& x) { return sums(x, detail::Curvature{}); },
          [=](const auto& x) { return sums(x, detail::Majorant{}); }, 0};
}

/// Total variation, or with an anatomy parallel level sets.
InDouble total_variation_in_double(const double* anatomy = nullptr) {
  if (anatomy) return in_double_on_gradients(detail::AnatomyEdges<double>{anatomy, 2});
  return in_double_on_gradients(detail::NoEdges{});
}

std::vector<InDouble> all_in_double() {
  std::vector<InDouble> all;
  for (const Potential& potential : all_potentials()) all.push_back(in_double_precision(potential));
  all.push_back(total_variation_in_double());
  all.push_back(total_variation_in_double(anatomy_numbers().data()));
  return all;
}

/// Smooth parts and steps, on any grid.
Image anatomy_on(const Grid& grid, Memory memory = Memory::host) {
  Image anatomy = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v)
    anatomy.voxels[v] = static_cast<float>((v / 3) % 5) + (v % 11 < 4 ? 30.0f : 0.0f);
  return anatomy.to(memory);
}

std::vector<std::shared_ptr<const Prior>> all_priors(const PriorSettings& settings, const Grid& grid = uneven,
                                                     Memory memory = Memory::host) {
  std::vector<std::shared_ptr<const Prior>> all;
  for (const Potential& potential : all_potentials()) all.push_back(neighbour_prior(potential, settings));
  all.push_back(total_variation_prior(0.5, settings));
  const auto anatomy = std::make_shared<const Image>(anatomy_on(grid, memory));
  all.push_back(parallel_level_sets_prior(0.5, 2, anatomy, settings));
  return all;
}

/// Numbers of the float interface, and of another memory.
void check_same_in(Memory memory) {
  const Grid grid = Grid::centred(37, 9, 11, {2, 3, 5});
  const Image image = rough(grid), there = image.to(memory);
  Image kappa = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) kappa.voxels[v] = static_cast<float>(v % 7) / 3;
  const auto kappa_here = std::make_shared<const Image>(kappa),
             kappa_there = std::make_shared<const Image>(kappa.to(memory));
  const auto compare = [&](const Prior& here, const Prior& other) {
    CHECK(difference(other.gradient(there).voxels.to_vector(), here.gradient(image).voxels.to_vector()) < 1e-6);
    CHECK(difference(other.hessian_diagonal(there).voxels.to_vector(),
                     here.hessian_diagonal(image).voxels.to_vector()) < 1e-6);
    CHECK(difference(other.majorant_curvature(there).voxels.to_vector(),
                     here.majorant_curvature(image).voxels.to_vector()) < 1e-6);
    CHECK(other.value(there) == approx(here.value(image)).epsilon(1e-9));
  };
  const auto priors = all_priors({.beta = 0.3, .kappa = kappa_here}, grid),
             others = all_priors({.beta = 0.3, .kappa = kappa_there}, grid, memory);
  for (std::size_t p = 0; p < priors.size(); ++p) compare(*priors[p], *others[p]);
  for (const Potential& potential : all_potentials())
    compare(*neighbour_prior(potential, {.beta = 1, .border = Border::replicate}),
            *neighbour_prior(potential, {.beta = 1, .border = Border::replicate}));
  const auto chosen_here = std::make_shared<const ChosenNeighbours>(kappa, 7),
             chosen_there = std::make_shared<const ChosenNeighbours>(*kappa_there, 7);
  compare(*neighbour_prior(HuberPotential{1}, {.beta = 1, .chosen = chosen_here}),
          *neighbour_prior(HuberPotential{1}, {.beta = 1, .chosen = chosen_there}));
}

}  // namespace

TEST_CASE("priors: the gradient is the value's central difference, in double precision") {
  for (const InDouble& prior : all_in_double()) {
    const std::vector<double> x = positive_numbers(), gradient = prior.gradient(x);
    std::vector<double> differences;
    for (std::size_t v = 0; v < x.size(); ++v) {
      constexpr double step = 1e-5;
      std::vector<double> above = x, below = x;
      above[v] += step;
      below[v] -= step;
      differences.push_back((prior.value(above) - prior.value(below)) / (2 * step));
    }
    CHECK(difference(gradient, differences) < 1e-6);
  }
}

TEST_CASE("priors: the diagonal of the Hessian is the gradient's central difference") {
  for (const InDouble& prior : all_in_double()) {
    const std::vector<double> x = positive_numbers(), hessian = prior.hessian(x);
    std::vector<double> differences;
    for (std::size_t v = 0; v < x.size(); ++v) {
      constexpr double step = 1e-6;
      std::vector<double> above = x, below = x;
      above[v] += step;
      below[v] -= step;
      differences.push_back((prior.gradient(above)[v] - prior.gradient(below)[v]) / (2 * step));
    }
    CHECK(difference(hessian, differences) < 1e-5);
  }
}

TEST_CASE("priors: the separable surrogate touches the penalty and lies above it") {
  std::mt19937 random(5);
  for (const InDouble& prior : all_in_double()) {
    const std::vector<double> x = positive_numbers(), gradient = prior.gradient(x), curvature = prior.majorant(x);
    CHECK(std::ranges::min(curvature) > 0);
    const double here = prior.value(x);
    for (int attempt = 0; attempt < 300; ++attempt) {
      const double reach = std::pow(2.0, attempt % 12 - 8);  // from far away to near by
      std::uniform_real_distribution<double> uniform(-reach, reach);
      std::vector<double> y = x;
      double surrogate = here;
      for (std::size_t v = 0; v < x.size(); ++v) {
        if (attempt % 3 == 0 && random() % 4 != 0) continue;  // some voxels alone
        y[v] = std::max({x[v] * (1 + uniform(random)), prior.least_ratio * x[v], 0.0});
        const double moved = y[v] - x[v];
        surrogate += gradient[v] * moved + curvature[v] * moved * moved / 2;
      }
      CHECK(prior.value(y) <= surrogate + 1e-9 * std::abs(surrogate));
    }
  }
}

TEST_CASE("priors: potentials are symmetric, and priors 0 for a constant image") {
  for (const Potential& potential : all_potentials())
    std::visit(
        [](const auto& psi) {
          for (const double a : {0.0, 0.3, 4.0, 70.0})
            for (const double b : {0.0, 0.2, 4.0, 90.0})
              CHECK(psi.value(a, b) == approx(psi.value(b, a)).epsilon(1e-14));
        },
        potential);
  for (const float level : {0.0f, 7.0f})
    for (const auto& prior : all_priors({.beta = 2})) {
      const Image flat = Image::filled(uneven, level);
      CHECK(std::abs(prior->value(flat)) < 1e-12);
      CHECK(prior->gradient(flat).voxels.to_vector() == std::vector<float>(60, 0));
    }
}

TEST_CASE("parallel level sets are total variation where the anatomy is flat") {
  const Image image = rough(uneven);
  const auto flat = parallel_level_sets_prior(0.5, 2, std::make_shared<const Image>(Image::filled(uneven, 700)),
                                              {.beta = 0.7}),
             variation = total_variation_prior(0.5, {.beta = 0.7});
  CHECK(flat->value(image) == variation->value(image));
  CHECK(flat->gradient(image).voxels.to_vector() == variation->gradient(image).voxels.to_vector());
  CHECK(flat->hessian_diagonal(image).voxels.to_vector() == variation->hessian_diagonal(image).voxels.to_vector());
  CHECK(flat->majorant_curvature(image).voxels.to_vector() == variation->majorant_curvature(image).voxels.to_vector());
}

TEST_CASE("parallel level sets: an edge that the anatomy has costs next to nothing, any other what it did") {
  // Steps of 10: at x = 4, where the anatomy has one of -50, and at y = 3, where it has none.
  const Grid grid = Grid::centred(8, 6, 4, {2, 2, 2});
  Image anatomy = Image::zeros(grid), shared = Image::zeros(grid), other = Image::zeros(grid);
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 6; ++j)
      for (int i = 0; i < 8; ++i) {
        const std::int64_t v = grid.index(i, j, k);
        anatomy.voxels[v] = i < 4 ? 100.0f : 50.0f;
        shared.voxels[v] = i < 4 ? 0.0f : 10.0f;
        other.voxels[v] = j < 3 ? 0.0f : 10.0f;
      }
  const double epsilon = 1e-3, eta = 0.5;
  const auto prior = parallel_level_sets_prior(epsilon, eta, std::make_shared<const Image>(anatomy), {.beta = 1}),
             variation = total_variation_prior(epsilon, {.beta = 1});
  // The closed form: sqrt(100 (1 - |xi|^2) + epsilon^2) - epsilon for each of 24 voxels, |xi|^2 = 50^2 / (50^2 +
  // eta^2).
  const double rest = eta * eta / (2500 + eta * eta);
  CHECK(prior->value(shared) == approx(24 * (std::sqrt(100 * rest + epsilon * epsilon) - epsilon)).epsilon(1e-5));
  CHECK(prior->value(shared) < 0.011 * variation->value(shared));
  CHECK(prior->value(other) == approx(variation->value(other)).epsilon(1e-6));
  // An anatomy of huge steps and tiny eta is no trouble.
  for (float& value : anatomy.voxels.span()) value *= 1e12f;
  const auto hard = parallel_level_sets_prior(epsilon, 0.1, std::make_shared<const Image>(anatomy), {.beta = 1});
  CHECK(hard->value(shared) >= 0);
  CHECK(hard->value(shared) < 1e-6);
  CHECK(hard->value(other) == approx(variation->value(other)).epsilon(1e-6));
  for (const float x : hard->gradient(other).voxels.to_vector()) CHECK(std::isfinite(x));
}

TEST_CASE("relative difference without epsilon is homogeneous of degree 1") {
  const auto prior = neighbour_prior(RelativeDifferencePotential{2, 0}, {.beta = 0.7});
  Image image = rough(uneven);
  const double value = prior->value(image);
  const auto gradient = prior->gradient(image).voxels.to_vector();
  for (const float scale : {1e-12f, 8.0f, 1e15f}) {
    Image scaled = image.to(Memory::host);
    for (float& x : scaled.voxels.span()) x *= scale;
    CHECK(prior->value(scaled) == approx(static_cast<double>(scale) * value).epsilon(1e-6));
    CHECK(difference(prior->gradient(scaled).voxels.to_vector(), gradient) < 1e-6);
  }
}

TEST_CASE("a voxel that differs by 1 from all around it pulls and is pulled by the weights of its neighbours") {
  Image image = Image::zeros(Grid::centred(3, 3, 3, {2, 2, 2}));
  image.voxels[image.grid.index(1, 1, 1)] = 1;
  const Image all = neighbour_prior(QuadraticPotential{}, {.beta = 2})->gradient(image);
  CHECK(all.voxels[all.grid.index(1, 1, 1)] == approx(2 * (6 + 12 / std::sqrt(2.0) + 8 / std::sqrt(3.0))));
  CHECK(all.voxels[all.grid.index(0, 1, 1)] == approx(-2));
  CHECK(all.voxels[all.grid.index(0, 0, 1)] == approx(-2 / std::sqrt(2.0)));
  CHECK(all.voxels[all.grid.index(0, 0, 0)] == approx(-2 / std::sqrt(3.0)));
  const Image faces =
      neighbour_prior(QuadraticPotential{}, {.beta = 2, .neighbours = Neighbours::faces})->gradient(image);
  CHECK(faces.voxels[all.grid.index(1, 1, 1)] == 12);
  CHECK(faces.voxels[all.grid.index(0, 0, 1)] == 0);
}

TEST_CASE("priors in single precision are those in double precision to 1e-6") {
  const std::vector<double> x = in_double(rough(uneven));
  for (const Potential& potential : all_potentials()) {
    const InDouble exact = in_double_precision(potential);
    const auto prior = neighbour_prior(potential, {.beta = 0.75});
    CHECK(difference(prior->gradient(rough(uneven)).voxels.to_vector(), exact.gradient(x)) < 1e-6);
    CHECK(difference(prior->hessian_diagonal(rough(uneven)).voxels.to_vector(), exact.hessian(x)) < 1e-6);
    CHECK(prior->value(rough(uneven)) == approx(exact.value(x)).epsilon(1e-6));
  }
}

TEST_CASE("priors on gradients in single precision are those in double precision to 1e-6") {
  const std::vector<double> x = in_double(rough(uneven)), edges = in_double(anatomy_on(uneven));
  const auto image = std::make_shared<const Image>(anatomy_on(uneven));
  for (const bool has_edges : {false, true}) {
    const InDouble exact = total_variation_in_double(has_edges ? edges.data() : nullptr);
    const auto prior = has_edges ? parallel_level_sets_prior(0.5, 0.5, image, {.beta = 0.75})
                                 : total_variation_prior(0.5, {.beta = 0.75});
    CHECK(difference(prior->gradient(rough(uneven)).voxels.to_vector(), exact.gradient(x)) < 1e-6);
    CHECK(difference(prior->hessian_diagonal(rough(uneven)).voxels.to_vector(), exact.hessian(x)) < 1e-6);
    CHECK(difference(prior->majorant_curvature(rough(uneven)).voxels.to_vector(), exact.majorant(x)) < 1e-6);
    CHECK(prior->value(rough(uneven)) == approx(exact.value(x)).epsilon(1e-6));
  }
}

TEST_CASE("priors on CUDA are the CPU's to 1e-6") {
  if (gpu_or_skip()) check_same_in(Memory::device);
}

TEST_CASE("neighbours are those that an anatomical image has most alike, and no edge of it is smoothed over") {
  const Grid grid = Grid::centred(8, 6, 4, {2, 2, 2});
  Image anatomy = Image::zeros(grid), image = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    anatomy.voxels[v] = v % 8 < 4 ? 1.0f : 2.0f;
    image.voxels[v] = v % 8 < 4 ? 10.0f : 50.0f;
  }
  // A voxel at the edge has 7 neighbours or more of its own side, also in a corner of the image.
  const auto chosen = std::make_shared<const ChosenNeighbours>(anatomy, 7);
  const auto prior = neighbour_prior(QuadraticPotential{}, {.beta = 1, .chosen = chosen});
  CHECK(prior->gradient(image).voxels.to_vector() == std::vector<float>(192, 0));
  CHECK(neighbour_prior(QuadraticPotential{}, {.beta = 1})->value(image) > 0);

  // All neighbours are chosen: the prior without a choice.
  const auto all = std::make_shared<const ChosenNeighbours>(anatomy, 26);
  const Image any = rough(grid);
  CHECK(neighbour_prior(QuadraticPotential{}, {.beta = 1, .chosen = all})->gradient(any).voxels.to_vector() ==
        neighbour_prior(QuadraticPotential{}, {.beta = 1})->gradient(any).voxels.to_vector());

  // The gradient is that of the value, though the choice is not mutual.
  const auto few =
      neighbour_prior(QuadraticPotential{}, {.beta = 1, .chosen = std::make_shared<const ChosenNeighbours>(any, 3)});
  const Image at = rough(Grid::centred(8, 6, 4, {2, 2, 2}));
  const auto gradient = few->gradient(at).voxels.to_vector();
  for (std::int64_t v = 0; v < grid.voxels(); v += 17) {
    Image above = at.to(Memory::host), below = at.to(Memory::host);
    above.voxels[v] += 0.5f;
    below.voxels[v] -= 0.5f;
    CHECK(few->value(above) - few->value(below) == approx(gradient[static_cast<std::size_t>(v)]).epsilon(1e-5));
  }
  CHECK_THROWS_AS(ChosenNeighbours(anatomy, 0), std::invalid_argument);
  CHECK_THROWS_AS(ChosenNeighbours(anatomy, 27), std::invalid_argument);
}

TEST_CASE("kappa multiplies a pair by both voxels' factors") {
  Image kappa = Image::filled(uneven, 1);
  kappa.voxels[7] = 3;
  const auto with = neighbour_prior(QuadraticPotential{}, {.beta = 1, .kappa = std::make_shared<const Image>(kappa)});
  const auto without = neighbour_prior(QuadraticPotential{}, {.beta = 1});
  Image image = Image::zeros(uneven);
  image.voxels[7] = 1;
  CHECK(with->value(image) == approx(3 * without->value(image)));
  CHECK(with->gradient(image).voxels[7] == approx(3 * without->gradient(image).voxels[7]));
  CHECK(with->gradient(image).voxels[8] == approx(3 * without->gradient(image).voxels[8]));
}

TEST_CASE("a prior refuses what it cannot be, and images that it is not for") {
  const auto refuses = [](const Potential& potential, PriorSettings settings, const char* message) {
    CHECK_THROWS_WITH_AS(neighbour_prior(potential, settings), doctest::Contains(message), std::invalid_argument);
  };
  refuses(QuadraticPotential{}, {.beta = -1}, "beta must be finite and not negative");
  refuses(QuadraticPotential{}, {.beta = std::nan("")}, "beta must be finite");
  refuses(HuberPotential{0}, {.beta = 1}, "delta must be finite and positive");
  refuses(LogCoshPotential{-1}, {.beta = 1}, "scale must be finite and positive");
  refuses(RelativeDifferencePotential{-1, 0}, {.beta = 1}, "gamma must be finite and not negative");
  refuses(RelativeDifferencePotential{2, INFINITY}, {.beta = 1}, "epsilon must be finite");
  CHECK_THROWS_AS(total_variation_prior(0, {.beta = 1}), std::invalid_argument);
  const auto edges = std::make_shared<const Image>(Image::filled(uneven, 1));
  for (const double wrong : {0.0, -1.0, std::nan(""), double{INFINITY}}) {
    CHECK_THROWS_WITH_AS(parallel_level_sets_prior(wrong, 1, edges, {.beta = 1}), doctest::Contains("epsilon must be"),
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(parallel_level_sets_prior(1, wrong, edges, {.beta = 1}), doctest::Contains("eta must be"),
                         std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(parallel_level_sets_prior(1, 1e-40, edges, {.beta = 1}), doctest::Contains("too small"),
                       std::invalid_argument);
  CHECK_THROWS_AS(parallel_level_sets_prior(1, 1, nullptr, {.beta = 1}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(parallel_level_sets_prior(1, 1, edges, {.beta = 1})->gradient(row_of({1, 2})),
                       doctest::Contains("the anatomy lies on another grid"), std::invalid_argument);

  const auto prior = neighbour_prior(QuadraticPotential{}, {.beta = 1});
  Image blobs = Image::zeros(Grid::centred(3, 3, 3, {2, 2, 2}));
  blobs.grid.blob = {4, 8};
  CHECK_THROWS_WITH_AS(prior->gradient(blobs), doctest::Contains("basis: voxels"), std::invalid_argument);
  const auto kappa = std::make_shared<const Image>(Image::filled(uneven, 1));
  CHECK_THROWS_WITH_AS(neighbour_prior(QuadraticPotential{}, {.beta = 1, .kappa = kappa})->value(row_of({1, 2})),
                       doctest::Contains("kappa lies on another grid"), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
