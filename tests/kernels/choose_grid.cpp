// The grid chosen for a scanner's figures: field of view, voxels, their limits, and other wishes.
#include "kernels/grid/choose_grid.hpp"

#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "kernels/ring/simulate/ring_scanner.hpp"
#include "kernels/strip/strip_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

// Not inline: GCC 12 would warn of a layer that is not initialised, which is a false alarm.
// As share/scanners/gemini_tf.yaml.
[[gnu::noinline]] RingScanner clinical() {
  RingScanner ring;
  ring.inner_radius_mm = 450;
  ring.modules_transaxial = 28;
  ring.crystals_transaxial = 23;
  ring.crystals_axial = 44;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 4.09;
  ring.layers = {{.depth_mm = 22}};
  ring.min_sector_difference = 7;
  return ring;
}

// As share/scanners/demo_ring.yaml.
[[gnu::noinline]] RingScanner small() {
  RingScanner ring;
  ring.inner_radius_mm = 250;
  ring.modules_transaxial = 32;
  ring.modules_axial = 3;
  ring.module_pitch_axial_mm = 48.5;
  ring.crystals_transaxial = ring.crystals_axial = 8;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 5.8;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 6;
  ring.min_sector_difference = 7;
  return ring;
}

// The detectors' distance from the axis, at their mean depth of interaction.
double bore_mm(const RingScanner& ring) {
  return static_cast<double>(ring.inner_radius_mm) + ring.layers.front().mean_depth_mm();
}

bool is_size(const Grid& grid, int x, int y, int z) {
  return grid.size[0] == x && grid.size[1] == y && grid.size[2] == z;
}

}  // namespace

TEST_CASE("the field of view is the circle whose lines are all recorded, and the detectors' length") {
  const auto scanner = make_scanner(small());
  const FieldOfView field = field_of_view(*scanner);
  // The refused line nearest to the axis: from the first crystal of a module to the last one of the sixth module after
  // it.
  const double across = 0.5 * 7 * 6, depth = bore_mm(small());
  const double angle = 6 * 2 * std::numbers::pi / 32 + 2 * std::atan2(across, depth);
  CHECK(field.edges_mm.x == approx(2 * std::hypot(across, depth) * std::cos(0.5 * angle)));
  CHECK(field.edges_mm.y == field.edges_mm.x);
  CHECK(field.edges_mm.z == approx(144.8));
  CHECK(norm(field.centre_mm) == 0);

  // By brute force over one ring of crystals.
  int within = 0;
  const auto& detectors = *scanner->detectors;
  for (std::uint32_t a = 0; a < detectors.size(); ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const Vec3 from = detectors.position(a), to = detectors.position(b);
      if (from.z != detectors.position(0).z || to.z != from.z || scanner->module_of(a) == scanner->module_of(b))
        continue;
      const float distance = std::abs(from.x * to.y - from.y * to.x) / std::hypot(to.x - from.x, to.y - from.y);
      if (distance >= 0.5f * field.edges_mm.x - 1e-2f) continue;
      ++within;
      REQUIRE(scanner->in_coincidence(a, b));
    }
  CHECK(within > 10000);
}

TEST_CASE("a scanner that records all lines, or only some of a part of it, shows nine tenths of its bore") {
  RingScanner ring = small();
  ring.min_sector_difference = 1;
  CHECK(field_of_view(*make_scanner(ring)).edges_mm.x == approx(2 * 0.9 * bore_mm(ring)).epsilon(1e-3));
  ring.min_sector_difference = 14;  // the circle is less than half the bore
  CHECK(field_of_view(*make_scanner(ring)).edges_mm.x == approx(2 * 0.9 * bore_mm(ring)).epsilon(1e-3));
}

TEST_CASE("voxels are half the crystals' pitch, rounded to half a millimetre, and hold the field of view") {
  CHECK(detector_pitch_mm(*make_scanner(small())) == approx(6));
  const Grid grid = choose_grid(*make_scanner(small()), {});
  CHECK(grid.voxel_mm == Vec3{3, 3, 3});
  CHECK(is_size(grid, 135, 135, 49));  // of 404.6 x 404.6 x 144.8 mm
  CHECK(grid == Grid::centred(135, 135, 49, {3, 3, 3}));
  const Grid large = choose_grid(*make_scanner(clinical()), {});
  CHECK(large.voxel_mm == Vec3{2, 2, 2});
  CHECK(is_size(large, 330, 330, 90));
  RingScanner fine = small();
  fine.crystals_transaxial = fine.crystals_axial = 80;
  fine.crystal_transaxial_mm = fine.crystal_axial_mm = fine.pitch_transaxial_mm = fine.pitch_axial_mm = 0.6;
  fine.modules_axial = 1;
  CHECK(choose_grid(*make_scanner(fine), {}).voxel_mm.x == 0.5f);  // and not 0
}

TEST_CASE("depth layers and a scanner off the origin do not mislead the grid") {
  RingScanner layered = small();
  layered.layers = {{.depth_mm = 10}, {.depth_mm = 10}};
  CHECK(choose_grid(*make_scanner(layered), {}).voxel_mm.x == 3);
  Scanner moved = *make_scanner(small());
  std::vector<Vec3> positions;
  for (std::uint32_t d = 0; d < moved.detectors->size(); ++d)
    positions.push_back(moved.detectors->position(d) + Vec3{10, -20, 300});
  moved.detectors = std::make_shared<const DetectorTable>(positions);
  CHECK(choose_grid(moved, {}) == grid_about({135, 135, 49}, {3, 3, 3}, {10, -20, 300}));
  CHECK(choose_grid(moved, {.centre_mm = Vec3{1, 2, 3}}) == grid_about({135, 135, 49}, {3, 3, 3}, {1, 2, 3}));
}

TEST_CASE("too many voxels are made larger, step by step") {
  RingScanner ring = clinical();
  ring.modules_axial = 20;
  ring.module_pitch_axial_mm = 180;
  const Grid grid = choose_grid(*make_scanner(ring), {});
  CHECK(grid.voxels() <= most_chosen_voxels);
  CHECK(grid.voxel_mm == Vec3{3, 3, 3});  // 2.5 mm would make 102e6 voxels, 3 mm makes 59e6
  CHECK(grid.size[2] == 1200);
}

TEST_CASE("a wished voxel keeps the field of view, blobs have lattices of twice a voxel's edge") {
  const auto scanner = make_scanner(small());
  CHECK(is_size(choose_grid(*scanner, {.voxel_mm = Vec3{4, 4, 2}}), 102, 102, 73));
  const Grid blobs = choose_grid(*scanner, {.blobs = true, .blob_alpha = 8.3689f});
  CHECK(blobs.voxel_mm == Vec3{6, 6, 6});
  CHECK(is_size(blobs, 68, 68, 25));
  CHECK(blobs.blob.radius_mm == approx(1.227 * 6).epsilon(1e-3));
  validate_basis(blobs);
  CHECK_THROWS_WITH(choose_grid(*scanner, {.voxel_mm = Vec3{0.004f, 4, 4}}),
                    doctest::Contains("image.voxel_mm of 0.004 mm makes 101157 voxels"));
}

TEST_CASE("a slip of the pen is refused, in size or in sum") {
  const auto scanner = make_scanner(small());
  CHECK_THROWS_WITH(choose_grid(*scanner, {.voxel_mm = Vec3{0.2f, 0.2f, 0.2f}}),
                    doctest::Contains("makes 2024 x 2024 x 724 voxels"));
}

TEST_CASE("two strips have a field of view, one voxel thick, and no crystals that say how large a voxel is") {
  const auto strips = make_strip_scanner("strips", {.radius_mm = 130, .length_mm = 300});
  CHECK(choose_grid(*strips, {.voxel_mm = Vec3{4, 4, 4}}) == Grid::centred(1, 65, 75, {4, 4, 4}));
  CHECK_THROWS_WITH(choose_grid(*strips, {}), doctest::Contains("write image.voxel_mm"));
}

TEST_CASE("a grid's words are what a pipeline has to say to get it") {
  CHECK(grid_in_words(grid_about({135, 135, 49}, {3, 3, 3}, {10, -20.5f, 300})) ==
        "{size: [135, 135, 49], voxel_mm: [3, 3, 3], centre_mm: [10, -20.5, 300]}");
}
// SPDX-License-Identifier: Apache-2.0
