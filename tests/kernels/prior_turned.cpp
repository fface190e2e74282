// Priors of an image that is turned by a right angle, or whose axes are exchanged: those of neighbours are the same about
// each axis; total variation and parallel level sets where axes are exchanged, and where a right angle mirrors an axis,
// they are those with differences the other way along it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/prior/chosen_neighbours.hpp"
#include "kernels/prior/prior.hpp"
#include "tests/kernels/prior_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::prior_test;

namespace {

/// A right angle about an axis, or an exchange of axes: the new axis n is the old one from[n], mirrored or not.
struct Turn {
  std::array<int, 3> from = {0, 1, 2};
  int mirrored = -1;  // an old axis

  Image operator()(const Image& image) const {
    const Grid& old = image.grid;
    Image result = Image::zeros(Grid::centred(old.size[from[0]], old.size[from[1]], old.size[from[2]],
                                              {old.voxel_mm[from[0]], old.voxel_mm[from[1]], old.voxel_mm[from[2]]}));
    for (int k = 0; k < old.size[2]; ++k)
      for (int j = 0; j < old.size[1]; ++j)
        for (int i = 0; i < old.size[0]; ++i) {
          std::array<int, 3> at = {i, j, k};
          if (mirrored >= 0) at[index(mirrored)] = old.size[mirrored] - 1 - at[index(mirrored)];
          result.voxels[result.grid.index(at[index(from[0])], at[index(from[1])], at[index(from[2])])] =
              image.voxels[old.index(i, j, k)];
        }
    return result;
  }
  static std::size_t index(int axis) { return static_cast<std::size_t>(axis); }
};

/// x to y and y to -x about z, and likewise about the others.
Turn right_angle(int about) {
  Turn turn;
  const int b = (about + 1) % 3, c = (about + 2) % 3;
  turn.from[Turn::index(b)] = c;
  turn.from[Turn::index(c)] = b;
  turn.mirrored = c;
  return turn;
}

const Grid turned_grid = Grid::centred(9, 6, 5, {2, 3, 5});

Image scattered_image(unsigned seed, float scale = 10) {
  std::mt19937 random(seed);
  Image image = Image::zeros(turned_grid);
  for (float& value : image.voxels.span()) value = scale * static_cast<float>(random() >> 8) * 0x1p-24f;
  return image;
}

std::shared_ptr<const Image> shared_image(Image image) {
  return std::make_shared<const Image>(std::move(image));
}

/// The prior of the turned image is the image's, and its derivatives are the image's, turned.
void check_turned(const Prior& prior, const Prior& of_turned, const Turn& turn, const Image& image) {
  const Image other = turn(image);
  CHECK(of_turned.value(other) == approx(prior.value(image)).epsilon(1e-7));
  const auto same = [&](const Image& made, const Image& expected) {
    CHECK(difference(made.voxels.to_vector(), turn(expected).voxels.to_vector()) < 1e-6);
  };
  same(of_turned.gradient(other), prior.gradient(image));
  same(of_turned.hessian_diagonal(other), prior.hessian_diagonal(image));
  same(of_turned.majorant_curvature(other), prior.majorant_curvature(image));
}

/// The definition, in double precision, of total variation or with an anatomy of parallel level sets: value and gradient
/// where differences along an axis go to the next voxel (1) or to the one before (-1).
struct OneWay {
  double beta = 0.7, epsilon = 0.5, eta = 2;
  std::array<int, 3> ways = {1, 1, 1};
  const Image* anatomy = nullptr;

  struct Made {
    double value = 0;
    std::vector<double> gradient;
  };
  Made operator()(const Image& image) const {
    const Grid& grid = image.grid;
    Made made{0, std::vector<double>(static_cast<std::size_t>(grid.voxels()))};
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) add_term(image, {i, j, k}, made);
    return made;
  }

 private:
  static std::int64_t voxel(const Grid& grid, const std::array<int, 3>& at) { return grid.index(at[0], at[1], at[2]); }

  void add_term(const Image& image, const std::array<int, 3>& at, Made& made) const {
    const Grid& grid = image.grid;
    const double shortest = static_cast<double>(std::min({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z}));
    std::array<std::int64_t, 3> next{};
    std::array<double, 3> steps{}, g{}, h{};
    double squares = 0, product = 0, length = eta * eta;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::array<int, 3> to = at;
      to[axis] += ways[axis];
      const int a = static_cast<int>(axis);
      next[axis] = voxel(grid, at);
      if (to[axis] < 0 || to[axis] >= grid.size[a]) continue;
      next[axis] = voxel(grid, to);
      steps[axis] = shortest / static_cast<double>(grid.voxel_mm[a]);
      g[axis] = steps[axis] * difference_in(image, voxel(grid, at), next[axis]);
      if (anatomy) h[axis] = steps[axis] * difference_in(*anatomy, voxel(grid, at), next[axis]);
      squares += g[axis] * g[axis];
      length += h[axis] * h[axis];
    }
    for (std::size_t axis = 0; axis < 3; ++axis) product += h[axis] / std::sqrt(length) * g[axis];
    const double root = std::sqrt(squares - product * product + epsilon * epsilon);
    made.value += beta * (root - epsilon);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double pull = beta * steps[axis] * (g[axis] - product * h[axis] / std::sqrt(length)) / root;
      made.gradient[static_cast<std::size_t>(next[axis])] += pull;
      made.gradient[static_cast<std::size_t>(voxel(grid, at))] -= pull;
    }
  }
  static double difference_in(const Image& image, std::int64_t from, std::int64_t to) {
    return static_cast<double>(image.voxels[to]) - static_cast<double>(image.voxels[from]);
  }
};

std::shared_ptr<const Prior> on_gradients(const OneWay& definition, const Image* anatomy) {
  const PriorSettings settings{.beta = definition.beta};
  if (!anatomy) return total_variation_prior(definition.epsilon, settings);
  return parallel_level_sets_prior(definition.epsilon, definition.eta, shared_image(anatomy->to(Memory::host)),
                                   settings);
}

}  // namespace

TEST_CASE("priors of neighbours: a right angle about each axis turns the derivatives and keeps the value") {
  const Image image = scattered_image(1), kappa = scattered_image(2, 2), anatomy = scattered_image(3);
  for (int about = 0; about < 3; ++about) {
    CAPTURE(about);
    const Turn turn = right_angle(about);
    for (const Potential& potential : all_potentials()) {
      const auto check = [&](const PriorSettings& settings, const PriorSettings& turned) {
        check_turned(*neighbour_prior(potential, settings), *neighbour_prior(potential, turned), turn, image);
      };
      check({.beta = 0.7}, {.beta = 0.7});
      check({.beta = 0.7, .neighbours = Neighbours::faces}, {.beta = 0.7, .neighbours = Neighbours::faces});
      check({.beta = 0.7, .border = Border::replicate}, {.beta = 0.7, .border = Border::replicate});
      check({.beta = 0.7, .kappa = shared_image(kappa.to(Memory::host))},
            {.beta = 0.7, .kappa = shared_image(turn(kappa))});
      // No two neighbours are equally near in the anatomy: of those, the order of memory decides.
      check({.beta = 0.7, .chosen = std::make_shared<const ChosenNeighbours>(anatomy, 7)},
            {.beta = 0.7, .chosen = std::make_shared<const ChosenNeighbours>(turn(anatomy), 7)});
    }
  }
}

TEST_CASE("total variation and parallel level sets: an exchange of axes turns the derivatives and keeps the value") {
  const Image image = scattered_image(1), anatomy = scattered_image(3), kappa = scattered_image(2, 2);
  for (const std::array<int, 3>& from :
       {std::array{1, 2, 0}, std::array{2, 0, 1}, std::array{1, 0, 2}, std::array{0, 2, 1}, std::array{2, 1, 0}}) {
    const Turn turn{.from = from};
    const PriorSettings settings{.beta = 0.7, .kappa = shared_image(kappa.to(Memory::host))},
        turned{.beta = 0.7, .kappa = shared_image(turn(kappa))};
    check_turned(*total_variation_prior(0.5, settings), *total_variation_prior(0.5, turned), turn, image);
    check_turned(*parallel_level_sets_prior(0.5, 2, shared_image(anatomy.to(Memory::host)), settings),
                 *parallel_level_sets_prior(0.5, 2, shared_image(turn(anatomy)), turned), turn, image);
  }
}

TEST_CASE("total variation and parallel level sets: a right angle sends differences of one axis the other way") {
  const Image image = scattered_image(1), anatomy = scattered_image(3);
  for (const Image* edges : {static_cast<const Image*>(nullptr), &anatomy}) {
    CAPTURE((edges != nullptr));
    OneWay definition{.anatomy = edges};
    const auto itself = definition(image);
    CHECK(on_gradients(definition, edges)->value(image) == approx(itself.value).epsilon(1e-6));
    for (int about = 0; about < 3; ++about) {
      CAPTURE(about);
      const Turn turn = right_angle(about);
      definition.ways = {1, 1, 1};
      definition.ways[Turn::index(turn.mirrored)] = -1;
      const auto expected = definition(image);
      const Image other = turn(image), other_edges = edges ? turn(*edges) : Image{};
      const auto prior = on_gradients(definition, edges ? &other_edges : nullptr);
      CHECK(prior->value(other) == approx(expected.value).epsilon(1e-6));
      Image gradient = image.to(Memory::host);
      for (std::int64_t v = 0; v < gradient.voxels.size(); ++v)
        gradient.voxels[v] = static_cast<float>(expected.gradient[static_cast<std::size_t>(v)]);
      CHECK(difference(prior->gradient(other).voxels.to_vector(), turn(gradient).voxels.to_vector()) < 1e-6);
      CHECK(prior->value(other) != approx(itself.value).epsilon(1e-4));  // so a right angle is no symmetry
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
