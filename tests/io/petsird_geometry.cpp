// Parts of detection bins, and positions of crystals, against numbers worked out by hand.
#include "gadgets/io/petsird/detection_bins.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

namespace {

using namespace tofstream::petsird;

void check_near(const Point& point, const Point& expected) {
  for (std::size_t axis = 0; axis < 3; ++axis) CHECK(point[axis] == tofstream::approx(expected[axis]).epsilon(1e-6));
}

}  // namespace

TEST_CASE("PETSIRD geometry: bins of each type, taken apart and put together") {
  const ScannerInformation scanner = toy::scanner();
  CHECK(module_types(scanner) == 2);
  CHECK(detection_bins(scanner) == 28);
  const BinCounts large = bin_counts(scanner, 0);
  CHECK(large.modules == 3);
  CHECK(large.elements == 4);
  CHECK(large.energies == 2);
  CHECK(large.bins() == 24);
  CHECK(bin_counts(scanner, 1).bins() == 4);
  CHECK(expand_bin(large, 13) == ExpandedBin{1, 2, 1});  // 13 = 1 + 2*(2 + 4*1)
  for (std::uint32_t bin = 0; bin < 24; ++bin) CHECK(compose_bin(large, expand_bin(large, bin)) == bin);
  CHECK(nth_bin(scanner, 23) == DetectionBin{0, 23});
  CHECK(nth_bin(scanner, 24) == DetectionBin{1, 0});
  CHECK_THROWS_WITH_AS(nth_bin(scanner, 28), "PETSIRD scanner has 28 detection bins; there is no bin 28", Error);
  CHECK_THROWS_AS(bin_counts(scanner, 2), Error);
  CHECK_THROWS_AS(bin_centre(scanner, {1, 4}), Error);
  CHECK_THROWS_AS(crystal_centre(scanner, 0, 3, 0), Error);
}

TEST_CASE("PETSIRD geometry: the element's transform comes first, then the module's") {
  const ScannerInformation scanner = toy::scanner();
  check_near(bin_centre(scanner, {0, 0}), {110, -2, -2});
  check_near(bin_centre(scanner, {0, 1}), {110, -2, -2});  // the same crystal, another energy
  check_near(bin_centre(scanner, {0, 8}), {-52.26794919, 98.26279442, 1});
  check_near(bin_centre(scanner, {1, 2}), {12.27193937, -63.83885561, 11});
  const auto centres = crystal_centres(scanner, 1);
  REQUIRE(centres.size() == 4);
  CHECK(centres[2] == bin_centre(scanner, {1, 2}));
}

TEST_CASE("PETSIRD geometry: gantryAlignment is applied on request only") {
  ScannerInformation scanner = toy::scanner();
  check_near(bin_centre(scanner, {0, 0}, PositionFrame::aligned), {110, -2, -52});
  scanner.gantry_alignment.reset();
  check_near(bin_centre(scanner, {0, 0}, PositionFrame::aligned), {110, -2, -2});
}
// SPDX-License-Identifier: Apache-2.0
