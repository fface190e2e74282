// Updates under a penalty, one step late, by De Pierro's surrogate and by BSREM: closed forms, and on a small scan the
// objective that they raise to the same maximum.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/em/bsrem_update.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/em/map_em_update.hpp"
#include "kernels/prior/prior.hpp"
#include "tests/kernels/prior_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::prior_test;

namespace {

const Grid penalised_grid{{5, 4, 3}, {2, 3, 5}, {0, 0, 0}};

void check_one_step_late(Memory memory) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Image inverse = row_of({0.25f, 0.5f, 0.5f, 0.5f, 0, 0.5f, 0.5f}).to(memory);
  const Image back = row_of({8, 2, 6, 6, 5, 3, 3}).to(memory);
  const Image gradient = row_of({4, -1, -1.9f, -1e30f, 7, std::nanf(""), infinity}).to(memory);
  Image x = row_of({1, 3, 5, 7, 9, 1, 1}).to(memory);
  const UpdateFaults faults = penalised_em_update(x, inverse, back, 0.5, {gradient, inverse});
  const auto values = x.voxels.to_vector();
  CHECK(values[0] == approx(1 * 8 / (0.5 * (4 + 4))));
  CHECK(values[1] == approx(3 * 2 / (0.5 * (2 - 1))));
  CHECK(values[2] == approx(5 * 6 / (0.5 * 0.2)));  // a tenth of s = 2 in place of 0.1
  CHECK(values[3] == approx(7 * 6 / (0.5 * 0.2)));  // s + g is negative
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

/// c y^2 + (s + g - c x) y - x back / t = 0, with s = 2 for all but the last voxels.
void check_surrogate(Memory memory) {
  const std::vector<float> start = {3, 3, 4, 5, 0, 8, 7, 6}, counts = {2, 1, 0, 6, 5, 2, 5, 3},
                           pulls = {1, -3, 0.5f, 0, -4, 0, 5, 9}, bends = {0.5f, 2, 0.25f, 0, 1, 1e3f, 1, 1};
  const Image whole = row_of({2, 2, 2, 2, 2, 2, 2, 0}), own = row_of({2, 2, 2, 2, 2, 2, 0, 0});
  const Image inverse_whole = inverse_sensitivity(whole).to(memory),
              inverse = inverse_sensitivity(own, whole).to(memory);
  const Image back = row_of(counts).to(memory), gradient = row_of(pulls).to(memory),
              curvature = row_of(bends).to(memory);
  Image x = row_of(start).to(memory);
  CHECK(map_em_update(x, inverse, back, 0.5, {gradient, curvature, inverse_whole}) == 0);
  const auto y = x.voxels.to_vector();
  for (std::size_t v = 0; v < 6; ++v) {
    CAPTURE(v);
    const double c = bends[v], linear = 2 + pulls[v] - c * start[v], em = start[v] * counts[v] / 0.5;
    CHECK(y[v] >= 0);
    // The root's own scale: the terms of the equation cancel.
    CHECK(std::abs(c * y[v] * y[v] + linear * y[v] - em) < 1e-5 * (em + std::abs(linear) * y[v] + 1));
  }
  CHECK(y[3] == 5 * 6 / 0.5f / 2);  // EM's
  CHECK(y[4] == 2);                 // what was 0 comes back, pulled by its neighbours
  CHECK(y[6] == 7);                 // this subset does not see it
  CHECK(y[7] == 0);                 // nothing does

  // A prior whose surrogate holds only above a share of the voxel; not where there is no penalty.
  Image limited = row_of({8, 8}).to(memory);
  const Image half = row_of({0.5f, 0.5f}).to(memory), one = row_of({1, 1}).to(memory);
  map_em_update(limited, half, one, 1, {row_of({9, 0}).to(memory), row_of({1, 0}).to(memory), half, 0.625f});
  CHECK(limited.voxels.to_vector() == std::vector<float>{5, 4});

  Image wild = row_of({1e30f, 1, 1}).to(memory);
  const Image much = row_of({1e30f, std::nanf(""), 1}).to(memory), flat = row_of({0, 0, 0}).to(memory),
              all = row_of({1, 1, 1}).to(memory);
  CHECK(map_em_update(wild, all, much, 1, {flat, flat, all}) == 2);
  CHECK(wild.voxels.to_vector() == std::vector<float>{0, 0, 1});
}

void check_bsrem(Memory memory) {
  const Image inverse = row_of({0.5f, 0.25f, 0.5f, 0, 0.5f}).to(memory), back = row_of({2, 1, 0, 4, 9}).to(memory),
              gradient = row_of({1, -2, 0, 3, 0}).to(memory);
  Image x = row_of({3, 4, 5, 6, 7}).to(memory);
  // Half of the time: s_k is half of 2, 4, 2, none, 2.
  const BsremStep step{.relaxation = 0.8, .weight = 0.5, .offset = 1, .bound = 20};
  const BsremFaults faults = bsrem_update(x, {inverse, inverse, back, 0.5, &gradient}, step);
  auto y = x.voxels.to_vector();
  CHECK(y[0] == approx(3 + 0.4 * 4 * (2 / 1.0 - 1 - 0.5)));
  CHECK(y[1] == approx(4 + 0.4 * 5 * (1 / 2.0 - 1 + 0.5)));
  CHECK(y[2] == approx(5 + 0.4 * 6 * (0 - 1)));
  CHECK(y[3] == 0);
  CHECK(y[4] == 10);  // 20 / 2, and not 7 + 0.4 * 8 * 8
  CHECK(faults.bounded == 1);
  CHECK(faults.not_finite == 0);

  // From 0 a voxel comes back by the offset; a step below 0 ends there; `highest` is another bound.
  Image few = row_of({0, 1, 1}).to(memory);
  const Image half = row_of({0.5f, 0.5f, 0.5f}).to(memory), counts = row_of({4, 0, 9}).to(memory),
              pull = row_of({0, 8, 0}).to(memory);
  bsrem_update(few, {half, half, counts, 1, &pull}, {.relaxation = 1, .offset = 0.5, .highest = 3});
  CHECK(few.voxels.to_vector() == std::vector<float>{0.5f, 0, 3});

  // A subset that sees half of what the whole sees takes half of the step, twice where there are two of them.
  const Image whole = row_of({8, 8, 8, 0}), own = row_of({4, 8, 0, 0});
  Image seen = row_of({2, 2, 2, 2}).to(memory);
  bsrem_update(seen,
               {inverse_sensitivity(own, whole).to(memory), inverse_sensitivity(whole).to(memory),
                row_of({8, 4, 1, 1}).to(memory)},
               {.relaxation = 1, .weight = 2});
  y = seen.voxels.to_vector();
  CHECK(y == std::vector<float>{2 + 2 * 0.5f * 2 * (2 - 1), 2 + 2 * 2 * (0.5f - 1), 2, 0});

  Image wild = row_of({1e30f, 1}).to(memory);
  const Image ones = row_of({1, 1}).to(memory);
  CHECK(bsrem_update(wild, {ones, ones, row_of({1e30f, 1}).to(memory)}, {}).not_finite == 1);
  CHECK(wild.voxels.to_vector() == std::vector<float>{0, 1});
}

/// Counts of eight lines through four voxels, in a scan that a penalty should smooth; lines of a first and a second
/// part, the second of three times the time.
struct ToyScan {
  std::vector<std::array<double, 4>> lines{{1, 0.2, 0, 0}, {0.1, 1, 0.3, 0}, {0, 0.4, 1, 0.1}, {0, 0, 0.2, 1},
                                           {1, 1, 0, 0},   {0, 1, 1, 0},     {0, 0, 1, 1},     {0.5, 0.5, 0.5, 0.5}};
  std::vector<double> first{9, 1, 3, 1, 11, 1, 7, 6}, second{22, 3, 14, 1, 29, 8, 23, 15};

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
  Image back_projection(const Image& image, bool with_first, bool with_second) const {
    const std::vector<double> x = in_double(image);
    std::vector<float> sum(4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double counts = (with_first ? first[i] : 0) + (with_second ? second[i] : 0);
      for (std::size_t v = 0; v < 4; ++v) sum[v] += static_cast<float>(lines[i][v] * counts / expected(i, x));
    }
    return row_of(sum);
  }
  /// The log-likelihood minus the penalty.
  double objective(const Image& image, const Prior& prior) const {
    const std::vector<double> x = in_double(image);
    double sum = -prior.value(image);
    for (std::size_t i = 0; i < lines.size(); ++i)
      sum += (first[i] + second[i]) * std::log(expected(i, x)) - expected(i, x);
    return sum;
  }
};

std::vector<std::shared_ptr<const Prior>> toy_priors() {
  const auto anatomy = std::make_shared<const Image>(row_of({0, 0, 5, 6}));
  return {neighbour_prior(QuadraticPotential{}, {.beta = 0.05}),
          neighbour_prior(HuberPotential{3}, {.beta = 0.3}),
          neighbour_prior(LogCoshPotential{0.3}, {.beta = 0.3}),
          neighbour_prior(RelativeDifferencePotential{2, 0.01}, {.beta = 1.5}),
          neighbour_prior(RelativeDifferencePotential{0, 0}, {.beta = 1}),
          total_variation_prior(2, {.beta = 0.5}),
          parallel_level_sets_prior(2, 1, anatomy, {.beta = 0.5})};
}

Image map_em_image(const ToyScan& toy, const Prior& prior, int updates) {
  const Image inverse = inverse_sensitivity(toy.sensitivity());
  Image x = row_of({9, 9, 9, 9});
  double objective = toy.objective(x, prior);
  for (int update = 0; update < updates; ++update) {
    const Image gradient = prior.gradient(x), curvature = prior.majorant_curvature(x);
    const Image back = toy.back_projection(x, true, true);
    CHECK(map_em_update(x, inverse, back, 1, {gradient, curvature, inverse, prior.least_ratio()}) == 0);
    const double next = toy.objective(x, prior);
    CAPTURE(update);
    REQUIRE(next > objective - 1e-5);  // the resolution of floats
    if (update < 5) REQUIRE(next > objective);
    objective = next;
  }
  return x;
}

}  // namespace

TEST_CASE("the penalised update divides by sensitivity and gradient, and no voxel becomes negative or infinite") {
  check_one_step_late(Memory::host);
}

TEST_CASE("the penalised update on CUDA does what the CPU does") {
  if (gpu_or_skip()) check_one_step_late(Memory::device);
}

TEST_CASE("MAP-EM's update maximises its surrogate") {
  check_surrogate(Memory::host);
}

TEST_CASE("MAP-EM's update on CUDA maximises its surrogate") {
  if (gpu_or_skip()) check_surrogate(Memory::device);
}

TEST_CASE("BSREM's update is a step along the gradient times (x + d) / s, to within its bounds") {
  check_bsrem(Memory::host);
}

TEST_CASE("BSREM's update on CUDA is the CPU's") {
  if (gpu_or_skip()) check_bsrem(Memory::device);
}

TEST_CASE("without a penalty the penalised update and MAP-EM are the EM update, bit for bit") {
  const Image image = rough(penalised_grid);
  Image sensitivity = rough(penalised_grid);
  for (float& s : sensitivity.voxels.span()) s += 0.3f;
  const Image inverse = inverse_sensitivity(sensitivity), flat = Image::zeros(penalised_grid);
  Image plain = image.to(Memory::host), late = image.to(Memory::host), map = image.to(Memory::host);
  em_update(plain, inverse, image, 0.3);
  const UpdateFaults faults = penalised_em_update(late, inverse, image, 0.3, {flat, inverse});
  map_em_update(map, inverse, image, 0.3, {flat, flat, inverse, 0.625f});
  CHECK(late.voxels.to_vector() == plain.voxels.to_vector());
  CHECK(map.voxels.to_vector() == plain.voxels.to_vector());
  CHECK(faults.limited + faults.not_finite == 0);
  CHECK_THROWS_AS(penalised_em_update(late, inverse, image, 0.3, {row_of({1}), inverse}), std::invalid_argument);
  CHECK_THROWS_AS(penalised_em_update(late, inverse, image, 0, {flat, inverse}), std::invalid_argument);
  CHECK_THROWS_AS(map_em_update(map, inverse, image, 0.3, {flat, row_of({1}), inverse}), std::invalid_argument);
  CHECK_THROWS_AS(map_em_update(map, inverse, image, -1, {flat, flat, inverse}), std::invalid_argument);
}

TEST_CASE("BSREM refuses settings out of range and images of another grid") {
  Image x = row_of({1, 2});
  const Image ones = row_of({1, 1}), other = row_of({1});
  CHECK_THROWS_AS(bsrem_update(x, {ones, ones, other}, {}), std::invalid_argument);
  CHECK_THROWS_AS(bsrem_update(x, {ones, ones, ones, 1, &other}, {}), std::invalid_argument);
  CHECK_THROWS_AS(bsrem_update(x, {ones, ones, ones, 0}, {}), std::invalid_argument);
  for (const BsremStep& step :
       {BsremStep{.relaxation = 0}, BsremStep{.weight = -1}, BsremStep{.offset = -1}, BsremStep{.bound = NAN}})
    CHECK_THROWS_AS(bsrem_update(x, {ones, ones, ones}, step), std::invalid_argument);
}

TEST_CASE("a weak penalty one step late: the objective rises with each update, to where its gradient is zero") {
  const ToyScan toy;
  const auto prior = neighbour_prior(QuadraticPotential{}, {.beta = 0.05});
  const Image sensitivity = toy.sensitivity(), inverse = inverse_sensitivity(sensitivity);
  Image x = row_of({9, 9, 9, 9}), free = row_of({9, 9, 9, 9});
  double objective = toy.objective(x, *prior);
  for (int update = 0; update < 300; ++update) {
    const Image gradient = prior->gradient(x);
    const Image back = toy.back_projection(x, true, true);
    const UpdateFaults faults = penalised_em_update(x, inverse, back, 1, {gradient, inverse});
    REQUIRE(faults.limited + faults.not_finite == 0);
    const double next = toy.objective(x, *prior);
    CAPTURE(update);
    CHECK(next > objective - 1e-5);  // the resolution of floats
    if (update < 5) CHECK(next > objective);
    objective = next;
    em_update(free, inverse, toy.back_projection(free, true, true), 1);
  }
  const Image gradient = prior->gradient(x), back = toy.back_projection(x, true, true);
  for (std::int64_t v = 0; v < 4; ++v)
    CHECK(back.voxels[v] == approx(sensitivity.voxels[v] + gradient.voxels[v]).epsilon(1e-3));
  CHECK(prior->value(x) < 0.9 * prior->value(free));
  CHECK(objective > toy.objective(free, *prior));
}

TEST_CASE("MAP-EM: with every prior the objective never falls, and its gradient is zero in the end") {
  const ToyScan toy;
  const Image sensitivity = toy.sensitivity();
  for (const auto& prior : toy_priors()) {
    const Image x = map_em_image(toy, *prior, 3000);
    const Image gradient = prior->gradient(x), back = toy.back_projection(x, true, true);
    for (std::int64_t v = 0; v < 4; ++v)
      CHECK(back.voxels[v] == approx(sensitivity.voxels[v] + gradient.voxels[v]).epsilon(2e-3));
  }
}

TEST_CASE("BSREM: two subsets of unequal time come to agree on MAP-EM's image") {
  const ToyScan toy;
  const Image inverse = inverse_sensitivity(toy.sensitivity());
  for (const auto& prior : toy_priors()) {
    const Image exact = map_em_image(toy, *prior, 3000);
    Image x = row_of({9, 9, 9, 9});
    for (int iteration = 1; iteration <= 4000; ++iteration)
      for (const bool is_first : {true, false}) {
        const double share = is_first ? 0.25 : 0.75;  // of the time
        const Image gradient = prior->gradient(x), back = toy.back_projection(x, is_first, !is_first);
        bsrem_update(x, {inverse, inverse, back, share, &gradient},
                     {.relaxation = 0.7 / (1 + 0.1 * (iteration - 1)), .weight = share / 0.5, .offset = 0.01});
      }
    CHECK(difference(x.voxels.to_vector(), exact.voxels.to_vector()) < 5e-3);
  }
}

TEST_CASE("a difference of images is added, on a GPU as on the CPU, and images that do not fit are refused") {
  const Grid grid = Grid::centred(7, 5, 3, {4, 4, 4});
  const auto image = [&](float first, float step) {
    std::vector<float> values(static_cast<std::size_t>(grid.voxels()));
    for (std::size_t v = 0; v < values.size(); ++v) values[v] = first + step * static_cast<float>(v % 11);
    return Image{grid, Buffer<float>::from(values)};
  };
  const Image start = image(2, 0.5F), plus = image(1, 3), minus = image(4, -1);
  const auto added = [&](Memory memory, const Image* subtracted) {
    Image sum = start.to(memory);
    const Image there = plus.to(memory);
    std::optional<Image> less;
    if (subtracted) less = subtracted->to(memory);
    add_difference(sum, 2.5, there, less ? &*less : nullptr);
    return sum.voxels.to_vector();
  };
  const std::vector<float> both = added(Memory::host, &minus), one = added(Memory::host, nullptr);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) {
    const double s = static_cast<double>(start.voxels[v]), p = static_cast<double>(plus.voxels[v]),
                 m = static_cast<double>(minus.voxels[v]);
    CHECK(both[static_cast<std::size_t>(v)] == approx(s + 2.5 * (p - m)));
    CHECK(one[static_cast<std::size_t>(v)] == approx(s + 2.5 * p));
  }
  Image sum = start.to(Memory::host);
  const Image other = Image::zeros(Grid::centred(7, 5, 4, {4, 4, 4}));
  CHECK_THROWS_WITH_AS(add_difference(sum, 1, other), doctest::Contains("image that is added lies on another grid"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(add_difference(sum, 1, plus, &other), doctest::Contains("image that is subtracted"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(add_difference(sum, std::numeric_limits<double>::infinity(), plus),
                       doctest::Contains("the factor is inf"), std::invalid_argument);
  if (!gpu_or_skip()) return;
  const std::vector<float> there = added(Memory::device, &minus), alone = added(Memory::device, nullptr);
  for (std::size_t v = 0; v < both.size(); ++v) {
    CHECK(there[v] == approx(both[v]).epsilon(1e-6));
    CHECK(alone[v] == approx(one[v]).epsilon(1e-6));
  }
  CHECK_THROWS_WITH_AS(add_difference(sum, 1, plus.to(Memory::device)), doctest::Contains("in other memory"),
                       std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
