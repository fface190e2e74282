// PETSIRD headers for scanners of other programs: detectors, pairs and ToF are those of the scanner, once read again.
#include "core/base/private_folder.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "gadgets/io/petsird/from_scanner.hpp"
#include "gadgets/io/petsird/header_check.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "tests/io/castor_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const Scanner> small_scanner(const std::string& more) {
  const PrivateTemporaryFolder folder;
  castor::testing::write_file(folder.path() / "s.geom", castor::testing::small_geom(more));
  return castor::to_scanner(castor::read_geometry(folder.path() / "s.geom"),
                            castor::testing::small_header(folder.path()), castor::Frame::castor)
      .scanner;
}

std::shared_ptr<const Scanner> read_again(petsird::DescribedScanner described) {
  CHECK(petsird::check_header(described.header).warnings.empty());
  return petsird::to_scanner(described.header.scanner);
}

// Without modules, in three directions.
Scanner points_anyhow() {
  const std::vector<Vec3> places = {{100.25f, 3.1f, -7}, {-98.7f, 11, 4.3f}, {5.5f, 101.125f, 0}, {-1, -99, 12.75f}};
  Scanner scanner{.name = "anyhow", .detectors = std::make_shared<const DetectorTable>(places)};
  scanner.types = {{.modules = 2, .elements = 2}};
  scanner.module_pair = {-1, 0, 0, -1};
  return scanner;
}

}  // namespace

TEST_CASE("PETSIRD: a scanner of CASToR's keeps its modules, its places and the pairs that count") {
  const auto scanner = small_scanner("min angle difference : 60\n");
  auto described = petsird::header_of(*scanner, {});
  CHECK(described.header.scanner.geometry.replicated_modules.front().transforms.size() == scanner->modules());
  REQUIRE(described.left_out.size() == 1);
  CHECK(described.left_out.front().find("energy window") != std::string::npos);
  const auto again = read_again(std::move(described));
  REQUIRE(again->detectors->size() == scanner->detectors->size());
  bool any_left_out = false;
  for (std::uint32_t a = 0; a < 32; ++a) {
    CHECK(norm(again->detectors->position(a) - scanner->detectors->position(a)) < 1e-4f);
    for (std::uint32_t b = 0; b < a; ++b) {
      CHECK(again->in_coincidence(a, b) == scanner->in_coincidence(a, b));
      any_left_out = any_left_out || !scanner->in_coincidence(a, b);
    }
  }
  CHECK(any_left_out);
}

TEST_CASE("PETSIRD: detectors whose modules are not alike are modules of their own, in place to the last bit") {
  const Scanner scanner = points_anyhow();
  const auto again = read_again(petsird::header_of(scanner, {}));
  REQUIRE(again->modules() == 4);
  for (std::uint32_t a = 0; a < 4; ++a) {
    CHECK(again->detectors->position(a) == scanner.detectors->position(a));
    for (std::uint32_t b = 0; b < a; ++b) CHECK(again->in_coincidence(a, b) == scanner.in_coincidence(a, b));
  }
  CHECK(again->tof.empty());
}

TEST_CASE("PETSIRD: ToF in bins keeps them; ToF without bins gets ten a FWHM; without a window it is refused") {
  const Scanner scanner = points_anyhow();
  const TofModel bins{.sigma_mm = 12, .bin_width_mm = 8, .window_mm = 72};
  const auto of_bins = read_again(petsird::header_of(scanner, bins));
  REQUIRE(of_bins->tof.size() == 1);
  CHECK(of_bins->tof.front().sigma_mm == approx(12.0f));
  CHECK(of_bins->tof.front().bin_width_mm == approx(8.0f));
  CHECK(of_bins->tof.front().window_mm == approx(72.0f));
  auto described = petsird::header_of(scanner, {.sigma_mm = 12, .window_mm = 500});
  CHECK(described.left_out.front().find("ToF within bins of 2.83 mm") != std::string::npos);
  CHECK(read_again(std::move(described))->tof.front().bin_width_mm == approx(12 * 0.2354820f));
  CHECK_THROWS_WITH(petsird::header_of(scanner, {.sigma_mm = 12}), doctest::Contains("no window"));
}

TEST_CASE("PETSIRD: what a header cannot say of a scanner is told") {
  Scanner scanner = points_anyhow();
  scanner.calibration = 0.5f;
  const auto described = petsird::header_of(scanner, {});
  REQUIRE(described.left_out.size() == 2);
  CHECK(described.left_out.back() == "efficiencies and the calibration");
  scanner.detectors = nullptr;
  CHECK_THROWS_WITH(petsird::header_of(scanner, {}), doctest::Contains("no detectors"));
}
// SPDX-License-Identifier: Apache-2.0
