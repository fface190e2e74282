// The EM update: closed forms, voxels that the scanner does not see, and overflow.
#include <limits>

#include "kernels/em/em_update.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

Image update_image(const std::vector<float>& values) {
  return {Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)};
}

constexpr float infinity = std::numeric_limits<float>::infinity();

void check_update(Memory memory) {
  const Image s = update_image({4, 2, 0.0041f, 0.0039f, 0, -1}).to(memory);
  const Image inverse = inverse_sensitivity(s);
  CHECK(inverse.voxels.to_vector() == std::vector<float>{0.25f, 0.5f, 1 / 0.0041f, 0, 0, 0});
  CHECK(inverse_sensitivity(s, 0.9f).voxels.to_vector() == std::vector<float>{0.25f, 0, 0, 0, 0, 0});

  Image x = update_image({1, 3, 0, 5, 7, 9}).to(memory);
  const Image back = update_image({8, 2, 3, 4, 5, 6}).to(memory);
  CHECK(em_update(x, inverse, back, 0.5) == 0);
  CHECK(x.voxels.to_vector() == std::vector<float>{4, 6, 0, 0, 0, 0});

  Image wild = update_image({1e30f, 1, 1, 1, 1, 1}).to(memory);
  const Image wild_back = update_image({1e30f, infinity, std::nanf(""), infinity, 0, 1}).to(memory);
  CHECK(em_update(wild, inverse, wild_back, 1) == 4);
  CHECK(wild.voxels.to_vector() == std::vector<float>{0, 0, 0, 0, 0, 0});

  // A subset leaves voxels unchanged that the whole sees and it does not.
  const Image own = update_image({4, 2, 0, 0.0001f, 3, 0}).to(memory),
              whole = update_image({8, 8, 8, 8, 0, 0}).to(memory);
  Image seen = update_image({1, 3, 5, 7, 9, 11}).to(memory);
  CHECK(em_update(seen, inverse_sensitivity(own, whole), back, 1) == 0);
  CHECK(seen.voxels.to_vector() == std::vector<float>{2, 3, 5, 7, 0, 0});
  // Even if both of two subsets see little of a voxel, one of them sees it if the whole does.
  const Image left = update_image({9000, 1, 5, 0, 0, 0}).to(memory),
              right = update_image({1, 9000, 5, 0, 0, 0}).to(memory);
  const Image both = update_image({9001, 9001, 10, 0, 0, 0}).to(memory);
  for (const Image* part : {&left, &right}) CHECK(inverse_sensitivity(*part, both).voxels.to_vector()[2] == 0.2f);
  CHECK_THROWS_AS(inverse_sensitivity(own, update_image({1, 2}).to(memory)), std::invalid_argument);
  CHECK_THROWS_AS(inverse_sensitivity(own, update_image({0, 0, 0, 0, 0, 0}).to(memory)), std::invalid_argument);

  CHECK_THROWS_AS(inverse_sensitivity(update_image({1, std::nanf("")}).to(memory)), std::invalid_argument);
  CHECK_THROWS_AS(inverse_sensitivity(update_image({1, infinity}).to(memory)), std::invalid_argument);
  CHECK_THROWS_AS(inverse_sensitivity(update_image({0, -1}).to(memory)), std::invalid_argument);
}

}  // namespace

TEST_CASE("the EM update is x / s * back projection / time fraction") {
  check_update(Memory::host);
}

TEST_CASE("the EM update on CUDA does what the CPU does") {
  if (gpu_or_skip()) check_update(Memory::device);
}

TEST_CASE("the EM update keeps all voxels of a large image, in every chunk") {
  std::vector<float> values(100003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 977 + 1);
  Image x = update_image(values);
  CHECK(em_update(x, inverse_sensitivity(x), update_image(values), 2) == 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    REQUIRE(x.voxels[static_cast<std::int64_t>(i)] == approx(values[i] / 2).epsilon(1e-6));
}

TEST_CASE("the EM update refuses other grids and impossible time fractions") {
  Image x = update_image({1, 2});
  CHECK_THROWS_AS(em_update(x, update_image({1, 2, 3}), update_image({1, 2}), 1), std::invalid_argument);
  CHECK_THROWS_AS(em_update(x, update_image({1, 2}), update_image({1}), 1), std::invalid_argument);
  for (const double fraction : {0.0, -1.0, std::nan(""), HUGE_VAL})
    CHECK_THROWS_AS(em_update(x, update_image({1, 2}), update_image({1, 2}), fraction), std::invalid_argument);
  for (const float fraction : {-0.1f, 1.0f, std::nanf("")})
    CHECK_THROWS_AS(inverse_sensitivity(x, fraction), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
