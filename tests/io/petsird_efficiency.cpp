// Detection efficiencies against products worked out by hand from the toy scanner's tables.
#include "gadgets/io/petsird/efficiency.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

namespace {

using namespace tofstream::petsird;

double single(std::uint32_t bin) {
  return 0.5 + 0.01 * bin;
}

}  // namespace

TEST_CASE("PETSIRD efficiency: calibration, bins and pair table of one type") {
  const ScannerInformation scanner = toy::scanner();
  // bin 9: module 1, element 0, energy 1; bin 2: module 0, element 1, energy 0. Symmetry group 0, entry [1][2].
  const double expected = 2.5 * single(9) * single(2) * (1 + 0.125 * 11);
  CHECK(bin_pair_efficiency(scanner, {0, 9}, {0, 2}) == tofstream::approx(expected));
  CHECK(bin_pair_efficiency(scanner, {0, 2}, {0, 9}) == tofstream::approx(expected));
  // bin 16: module 2, element 0, energy 0; with module 0 it has group 1, entry [0][2].
  CHECK(bin_pair_efficiency(scanner, {0, 16}, {0, 2}) ==
        tofstream::approx(2.5 * single(16) * single(2) * (20 + 0.125 * 3)));
  CHECK(bin_pair_efficiency(scanner, {0, 3}, {0, 2}) == 0);  // one module
  CHECK_THROWS_AS(bin_pair_efficiency(scanner, {0, 24}, {0, 0}), Error);
}

TEST_CASE("PETSIRD efficiency: pairs of two types, either way round") {
  const ScannerInformation scanner = toy::scanner();
  // bin 3 of type 1: module 1, element 1; with module 1 of type 0 group 0, entry [1][1]; with module 0 none.
  const double expected = 2.5 * 1.75 * single(9) * (40 + 0.125 * 10);
  CHECK(bin_pair_efficiency(scanner, {1, 3}, {0, 9}) == tofstream::approx(expected));
  CHECK(bin_pair_efficiency(scanner, {0, 9}, {1, 3}) == tofstream::approx(expected));
  CHECK(bin_pair_efficiency(scanner, {1, 3}, {0, 2}) == 0);
}

TEST_CASE("PETSIRD efficiency: a pair of crystals is the sum over energies") {
  const ScannerInformation scanner = toy::scanner();
  double sum = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (std::uint32_t j = 0; j < 2; ++j) sum += bin_pair_efficiency(scanner, {0, 8 + i}, {0, 2 + j});
  }
  CHECK(crystal_pair_efficiency(scanner, {0, 4}, {0, 1}) == tofstream::approx(sum));
  CHECK(crystal_pair_efficiency(scanner, {0, 1}, {0, 4}) == tofstream::approx(sum));
}

TEST_CASE("PETSIRD efficiency: components that are absent count as one") {
  ScannerInformation scanner = toy::scanner();
  scanner.efficiencies.module_pair_efficiencies.clear();
  CHECK(bin_pair_efficiency(scanner, {0, 9}, {0, 2}) == tofstream::approx(2.5 * single(9) * single(2)));
  CHECK(bin_pair_efficiency(scanner, {0, 3}, {0, 2}) == 0);
  scanner.efficiencies.module_pair_sgid_lut.clear();
  CHECK(bin_pair_efficiency(scanner, {0, 3}, {0, 2}) == tofstream::approx(2.5 * single(3) * single(2)));
  scanner.efficiencies.detection_bin_efficiencies.clear();
  CHECK(bin_pair_efficiency(scanner, {0, 3}, {1, 2}) == 2.5);
}

TEST_CASE("PETSIRD scanner model: detectors, ToF and efficiencies agree with the header") {
  const ScannerInformation scanner = toy::scanner();
  const auto model = to_scanner(scanner, {DetectorDepth::Kind::centre});
  REQUIRE(model->types.size() == 2);
  CHECK(model->detectors->size() == 16);
  CHECK(model->types[1].first_detector == 12);
  for (std::uint32_t type = 0; type < 2; ++type) {
    const auto centres = crystal_centres(scanner, type);
    for (std::uint32_t i = 0; i < centres.size(); ++i) {
      const auto position = model->detectors->position(model->types[type].first_detector + i);
      CHECK(position.x == static_cast<float>(centres[i][0]));
      CHECK(position.y == static_cast<float>(centres[i][1]));
      CHECK(position.z == static_cast<float>(centres[i][2]));
    }
  }
  REQUIRE(model->tof.size() == 4);
  CHECK(model->tof[0].sigma_mm == tofstream::approx(30 / 2.354820045));
  CHECK(model->tof[0].bin_width_mm == 20);
  CHECK(model->tof[1].sigma_mm == 0);  // one bin: non-ToF
  CHECK(model->tof[2] == model->tof[1]);
  CHECK(model->tof[3].bin_width_mm == 20);

  const auto crystal = [&](std::uint32_t detector) {
    return detector < 12 ? Crystal{0, detector} : Crystal{1, detector - 12};
  };
  int in_coincidence = 0;
  for (std::uint32_t a = 0; a < 16; ++a) {
    for (std::uint32_t b = 0; b < 16; ++b) {
      CAPTURE(a);
      CAPTURE(b);
      const double expected = crystal_pair_efficiency(scanner, crystal(a), crystal(b));
      CHECK(model->efficiency(a, b) == tofstream::approx(expected).epsilon(1e-6));
      CHECK(model->in_coincidence(a, b) == (expected > 0));
      in_coincidence += expected > 0 ? 1 : 0;
    }
  }
  CHECK(in_coincidence == 2 * (3 * 16 + 5 * 8 + 4));
}

TEST_CASE("PETSIRD scanner model: without a table of module pairs every pair counts, within a module too") {
  ScannerInformation scanner = toy::scanner();
  scanner.efficiencies.module_pair_sgid_lut.clear();
  scanner.efficiencies.module_pair_efficiencies.clear();
  scanner.efficiencies.detection_bin_efficiencies.clear();
  scanner.tof_bin_edges_mm = {{{-1, 1}}, {{-1, 1}, {-1, 1}}};
  const auto model = to_scanner(scanner);
  CHECK(model->tof.empty());
  CHECK(model->in_coincidence(0, 1));
  CHECK(model->in_coincidence(12, 1));
  CHECK(model->efficiency(0, 15) == 2.5F);
}

TEST_CASE("PETSIRD scanner model: pairs without a table of their own get one") {
  ScannerInformation scanner = toy::scanner();
  scanner.efficiencies.module_pair_efficiencies[0][0][1].values.clear();
  scanner.efficiencies.module_pair_sgid_lut[1][0].clear();
  const auto model = to_scanner(scanner);
  CHECK(model->efficiency(8, 1) == tofstream::approx(crystal_pair_efficiency(scanner, {0, 8}, {0, 1})));
  CHECK(model->efficiency(15, 1) == tofstream::approx(crystal_pair_efficiency(scanner, {1, 3}, {0, 1})));
  CHECK(model->efficiency(15, 1) > 0);
}
// SPDX-License-Identifier: Apache-2.0
