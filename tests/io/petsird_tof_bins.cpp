// ToF bins: which one covers a value, and what exchanging the detectors does to a bin.
#include "gadgets/io/petsird/tof_bins.hpp"
#include "tests/io/petsird_toy.hpp"

using namespace tofstream::petsird;

TEST_CASE("PETSIRD ToF: values in bins of unequal width") {
  const BinEdges edges{-40, -8, 4, 16, 40};
  CHECK(tof_bin_of(edges, -41) == no_tof_bin);
  CHECK(tof_bin_of(edges, -40) == 0);
  CHECK(tof_bin_of(edges, -8.001) == 0);
  CHECK(tof_bin_of(edges, 3.9) == 1);
  CHECK(tof_bin_of(edges, 39.9) == 3);
  CHECK(tof_bin_of(edges, 40) == no_tof_bin);
  CHECK(tof_bin_centre(edges, 0) == -24);
}

TEST_CASE("PETSIRD ToF: exchanging detectors mirrors symmetric bins and negates others") {
  const BinEdges symmetric{-50, -30, -10, 10, 30, 50};
  CHECK(exchanged_tof_bins(symmetric, symmetric) == std::vector<std::uint32_t>{4, 3, 2, 1, 0});
  const BinEdges other{-40, -8, 4, 16, 40};  // centres -24, -2, 10, 28
  CHECK(exchanged_tof_bins(other, other) == std::vector<std::uint32_t>{3, 1, 0, 0});
  CHECK(exchanged_tof_bins({10, 20, 30}, {0, 30}) == std::vector<std::uint32_t>{no_tof_bin, no_tof_bin});
  BinEdges many;
  for (int i = -150; i <= 150; ++i) many.push_back(static_cast<float>(i) * 2.6666667F);
  const auto mirrored = exchanged_tof_bins(many, many);
  for (std::uint32_t k = 0; k < 300; ++k) CHECK(mirrored[k] == 299 - k);
}

TEST_CASE("PETSIRD ToF: tables are found for a pair in either order") {
  const ScannerInformation scanner = toy::scanner();
  CHECK(tof_edges(scanner, {0, 1}) == BinEdges{-100, 100});
  CHECK(tof_resolution_fwhm_mm(scanner, {1, 1}) == 24);
  CHECK_THROWS_AS(tof_edges(scanner, {2, 0}), Error);
}
// SPDX-License-Identifier: Apache-2.0
