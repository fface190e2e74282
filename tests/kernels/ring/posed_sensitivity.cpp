// Sensitivities of a scanner that stood in several poses: by whole voxels and right angles they are the still scanner's,
// moved; samples come near; a GPU draws what the CPU does; and a moved list gives the moved back projection.
#include <cmath>
#include <numbers>

#include "kernels/analysis/compare.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/pair_batch.hpp"
#include "kernels/ring/sensitivity/posed_detectors.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/rigid_pose.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/correct_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

Scanner in_poses(const Scanner& scanner, PoseShares poses) {
  Scanner result = scanner;
  result.poses = std::make_shared<const PoseShares>(std::move(poses));
  return result;
}

RigidPose quarter_turn(std::array<double, 3> shift_mm = {}) {
  return pose_of_matrix({0, -1, 0, shift_mm[0], 1, 0, 0, shift_mm[1], 0, 0, 1, shift_mm[2]});
}

const Grid wide = Grid::centred(15, 15, 9, {6, 6, 5});

/// The image as the pose takes it there, a quarter turn or none and then whole voxels; 0 for what comes from outside.
Image taken(const Image& image, bool turn, int i_shift, int j_shift, int k_shift) {
  Image result{image.grid, Buffer<float>::zeros(Memory::host, image.grid.voxels())};
  const Grid& grid = image.grid;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const int to_i = (turn ? grid.size[1] - 1 - j : i) + i_shift, to_j = (turn ? i : j) + j_shift,
                  to_k = k + k_shift;
        if (to_i < 0 || to_j < 0 || to_k < 0 || to_i >= grid.size[0] || to_j >= grid.size[1] || to_k >= grid.size[2])
          continue;
        result.voxels[grid.index(to_i, to_j, to_k)] = image.voxels[grid.index(i, j, k)];
      }
  return result;
}

/// Without the voxels near the borders, to which a moved image brings nothing.
double inner_difference(const Image& a, const Image& b, int border) {
  double squares = 0, largest = 0;
  const Grid& grid = a.grid;
  for (int k = border; k < grid.size[2] - border; ++k)
    for (int j = border; j < grid.size[1] - border; ++j)
      for (int i = border; i < grid.size[0] - border; ++i) {
        const auto v = grid.index(i, j, k);
        squares += std::pow(static_cast<double>(a.voxels[v] - b.voxels[v]), 2);
        largest = std::max(largest, static_cast<double>(b.voxels[v]));
      }
  return std::sqrt(squares / static_cast<double>(grid.voxels())) / largest;
}

/// A bar beside the axis, 1/mm.
Image bar_beside_the_axis() {
  Image mu = Image::zeros(Grid::centred(16, 16, 12, {8, 8, 8}), Memory::host);
  for (int k = 2; k < 9; ++k)
    for (int j = 3; j < 6; ++j)
      for (int i = 4; i < 14; ++i) mu.voxels[mu.grid.index(i, j, k)] = 0.01f;
  return mu;
}

}  // namespace

TEST_CASE("the sensitivity of several poses is the mean of the still scanner's, moved") {
  const Scanner toy = toy_scanner();
  const auto projector = make_joseph_reference(wide, {});
  const Image still = compute_sensitivity(toy, *projector).image;
  const RigidPose shifted = pose_of_matrix({1, 0, 0, 12, 0, 1, 0, -6, 0, 0, 1, 5});
  const Sensitivity mean =
      compute_sensitivity(in_poses(toy, {{{}, 0.5}, {shifted, 0.3}, {quarter_turn({6, 0, 0}), 0.2}}), *projector);
  CHECK(mean.exact);
  const Image one = taken(still, false, 2, -1, 1), other = taken(still, true, 1, 0, 0);
  Image expected = still;
  for (std::int64_t v = 0; v < expected.voxels.size(); ++v)
    expected.voxels[v] = 0.5f * still.voxels[v] + 0.3f * one.voxels[v] + 0.2f * other.voxels[v];
  CHECK(inner_difference(mean.image, expected, 2) < 1e-6);
  CHECK(inner_difference(still, expected, 2) > 1e-2);
}

TEST_CASE("what stays with the scanner attenuates a pair's line where the scanner stood, the object where it was") {
  const Scanner toy = toy_scanner();
  const auto projector = make_joseph_reference(wide, {});
  const Image hardware = bar_beside_the_axis();
  const RigidPose shifted = pose_of_matrix({1, 0, 0, 12, 0, 1, 0, -6, 0, 0, 1, 5});
  SUBCASE("alone") {
    const Image still = compute_sensitivity(toy, *projector, {}, {nullptr, &hardware}).image;
    CHECK(still.voxels.to_vector() == compute_sensitivity(toy, *projector, {}, &hardware).image.voxels.to_vector());
    const Image mean =
        compute_sensitivity(in_poses(toy, {{{}, 0.7}, {shifted, 0.3}}), *projector, {}, {nullptr, &hardware}).image;
    Image expected = taken(still, false, 2, -1, 1);
    for (std::int64_t v = 0; v < expected.voxels.size(); ++v)
      expected.voxels[v] = 0.7f * still.voxels[v] + 0.3f * expected.voxels[v];
    CHECK(inner_difference(mean, expected, 2) < 1e-6);
    const Image along =
        compute_sensitivity(in_poses(toy, {{{}, 0.7}, {shifted, 0.3}}), *projector, {}, &hardware).image;
    CHECK(inner_difference(along, expected, 2) > 1e-3);  // as if it moved with the object
  }
  SUBCASE("with an object that moves") {
    Image object = bar_beside_the_axis(), where_it_was = bar_beside_the_axis();
    object.grid.origin_mm = object.grid.origin_mm + Vec3{-8, 20, 4};
    where_it_was.grid.origin_mm = object.grid.origin_mm - Vec3{12, -6, 5};
    const Image moved_along =
        compute_sensitivity(in_poses(toy, {{shifted, 1}}), *projector, {}, {&object, &hardware}).image;
    const Image still = compute_sensitivity(toy, *projector, {}, {&where_it_was, &hardware}).image;
    CHECK(inner_difference(moved_along, taken(still, false, 2, -1, 1), 2) < 1e-6);
  }
}

TEST_CASE("a sample of pairs in poses comes as near to all of them as it says") {
  const auto scanner = make_scanner(small_ring());
  const Grid grid = Grid::centred(12, 12, 8, {20, 20, 15});
  const auto projector = make_joseph_projector(grid, {}, Backend::cpu);
  PoseShares poses;
  for (int k = 0; k < 5; ++k)
    poses.push_back({pose_of_quaternion({1, 0, 0, 0.04 * k}, {4.0 * k, 0, -6.0 * k}), k == 0 ? 0.6 : 0.1});
  const Scanner moving = in_poses(*scanner, poses);
  const Sensitivity all = compute_sensitivity(moving, *projector),
                    sampled = compute_sensitivity(moving, *projector,
                                                  {.exact_pairs = 0, .error = 0.03, .replicate_pairs = 2000}),
                    even = compute_sensitivity(moving, *projector, {.exact_pairs = all.pairs, .error = 0.5});
  CHECK(all.exact);
  REQUIRE(!sampled.exact);
  REQUIRE(even.is_lattice);
  CHECK(sampled.symmetries == 1);
  const auto error_of = [&](const Image& image) {
    double squares = 0, reference = 0;
    for (std::int64_t v = 0; v < grid.voxels(); ++v) {
      squares += std::pow(static_cast<double>(image.voxels[v] - all.image.voxels[v]), 2);
      reference += std::pow(static_cast<double>(all.image.voxels[v]), 2);
    }
    return std::sqrt(squares / reference);
  };
  CHECK(error_of(sampled.image) < 1.5 * sampled.relative_error);
  CHECK(error_of(sampled.image) > 0.5 * sampled.relative_error);
  CHECK(error_of(even.image) < 1.2 * even.relative_error);
  CHECK(error_of(even.image) <
        error_of(sampled.image) * std::sqrt(static_cast<double>(sampled.drawn) / static_cast<double>(even.drawn)));
}

TEST_CASE("the key of a sensitivity knows the poses, and recorded lines have none") {
  const Scanner toy = toy_scanner();
  const auto key = [](const Scanner& scanner) { return sensitivity_key(scanner, wide, "p"); };
  const Scanner one = in_poses(toy, {{quarter_turn(), 1}}), two = in_poses(toy, {{quarter_turn(), 0.5}, {{}, 0.5}});
  CHECK(key(one) != key(toy));
  CHECK(key(one) != key(two));
  CHECK(key(one) == key(in_poses(toy, {{quarter_turn(), 1}})));
  const Image mu = bar_beside_the_axis();
  const auto with = [&](const MuMaps& maps) { return sensitivity_key(one, wide, "p", {}, maps); };
  CHECK(with(&mu) != with({nullptr, &mu}));
  CHECK(with(&mu) != with({&mu, &mu}));
  CHECK(with({nullptr, &mu}) != key(one));
}

// Turned, so that no line runs at 45 degrees, where rounding decides which axis is the predominant one.
TEST_CASE("events of a moved scanner give the moved back projection, by Joseph and by tubes") {
  const auto scanner = make_scanner(small_ring());
  const Grid grid = Grid::centred(20, 20, 12, {10, 10, 12});
  EventBatch batch = random_events(scanner, 4000, 7);
  EventBatch shifted = random_events(scanner, 4000, 7);
  batch.detectors = moved(*scanner->detectors, pose_of_quaternion({1, 0.01, 0, 0.07}, {}));
  shifted.detectors = moved(*scanner->detectors, pose_of_quaternion({1, 0.01, 0, 0.07}, {20, -10, 12}));
  for (const bool tubes : {false, true}) {
    const auto projector = tubes ? make_tor_projector(grid, {RadialResponse::gaussian(10, 24)}, Backend::cpu)
                                 : make_joseph_projector(grid, {}, Backend::cpu);
    const std::vector<float> ones(4000, 1.0f);
    Image still = Image::zeros(grid, Memory::host), there = Image::zeros(grid, Memory::host);
    projector->back(batch.view(), ones.data(), still.voxels.data());
    projector->back(shifted.view(), ones.data(), there.voxels.data());
    CHECK(inner_difference(there, taken(still, false, 2, -1, 1), 3) < 2e-5);
  }
}

TEST_CASE("on a GPU the same pairs are drawn in the same poses, and the sensitivity is the CPU's") {
  if (!gpu_or_skip()) return;
  const auto scanner = make_scanner(small_ring());
  const Scanner moving = in_poses(*scanner, {{{}, 0.25}, {quarter_turn({15, 0, 9}), 0.75}});
  const Grid grid = Grid::centred(12, 12, 8, {20, 20, 15});
  const Image mu = bar_beside_the_axis();
  for (const std::int64_t exact_pairs : {std::int64_t{0}, std::int64_t{100'000}, std::int64_t{50'000'000}}) {
    const SensitivitySettings settings{.exact_pairs = exact_pairs, .error = 0.03, .replicate_pairs = 2000};
    for (const MuMaps& maps : {MuMaps{}, MuMaps{nullptr, &mu}, MuMaps{&mu, &mu}}) {
      const auto made = [&](Backend backend) {
        return compute_sensitivity(moving, *make_joseph_projector(grid, {}, backend), settings, maps);
      };
      const Sensitivity here = made(Backend::cpu), there = made(Backend::cuda);
      CHECK(here.projected == there.projected);
      CHECK(compare(there.image, here.image).nrms < 1e-6);
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
