// Singles histograms of PETSIRD as counts of detectors: energies, the coincidence window, and headers that do not say
// enough.
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/singles.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

/// 12 detectors of type 0 and 4 of type 1, coincidences between 400 and 600 keV in one window.
ScannerInformation singles_scanner() {
  ScannerInformation scanner = toy::scanner();
  scanner.prompt_event_policy = CoincidencePolicy::multiples_as_all_coincidences;
  scanner.singles_histogram_level = SinglesHistogramLevel::all;
  scanner.event_energy_bin_edges_keV = {{400, 500, 600}, {400, 600}};
  scanner.singles_histogram_energy_bin_edges_keV = {{300, 400, 500, 600}, {400, 600, 700}};
  scanner.tof_bin_edges_mm = {{{-300, 0, 300}}, {{-300, 300}, {-300, -100, 100, 300}}};
  return scanner;
}

SinglesHistogramBlock numbered_block() {
  SinglesHistogramBlock block{{1000, 3000}, {std::vector<std::uint64_t>(36), std::vector<std::uint64_t>(8)}};
  for (std::size_t k = 0; k < 36; ++k) block.histograms[0][k] = k;
  for (std::size_t k = 0; k < 8; ++k) block.histograms[1][k] = 100 + k;
  return block;
}

}  // namespace

TEST_CASE("a detector's singles are those of the energy bins within the coincidences' window") {
  const SinglesHistograms histograms(singles_scanner());
  const auto singles = histograms.counts_of(numbered_block(), 500);
  CHECK(singles->start_s == approx(1.5));
  CHECK(singles->duration_s == approx(2));
  CHECK(singles->unusable == "");
  REQUIRE(singles->counts.size() == 16);
  CHECK(singles->counts[0] == 1 + 2);  // without 300 to 400 keV
  CHECK(singles->counts[11] == 34 + 35);
  CHECK(singles->counts[12] == 100);  // without 600 to 700 keV
  CHECK(singles->counts[15] == 106);
  // 600 mm of half the difference of ways: 1200 mm at the speed of light.
  CHECK(singles->window_s == approx(1200 / 299.792458e9));
  CHECK_FALSE(singles->multiples_rejected);
}

TEST_CASE("the header says what became of multiples, and whether there is one window") {
  ScannerInformation scanner = singles_scanner();
  scanner.prompt_event_policy = CoincidencePolicy::reject_higher_multiples;
  CHECK(SinglesHistograms(scanner).counts_of(numbered_block())->multiples_rejected);
  scanner.tof_bin_edges_mm[1][0] = {-200, 200};
  CHECK(SinglesHistograms(scanner).counts_of(numbered_block())->window_s == 0);
}

TEST_CASE("histograms that are no rates of detectors say why") {
  const auto why = [](auto change) {
    ScannerInformation scanner = singles_scanner();
    change(scanner);
    const auto singles = SinglesHistograms(scanner).counts_of(numbered_block());
    CHECK(singles->counts.empty());
    return singles->unusable;
  };
  using S = ScannerInformation;
  CHECK(why([](S& s) {
          s.singles_histogram_level = SinglesHistogramLevel::module;
        }).starts_with("the singles histograms are by module"));
  CHECK(why([](S& s) { s.singles_histogram_level = SinglesHistogramLevel::none; }).find("singlesHistogramLevel") !=
        std::string::npos);
  CHECK(why([](S& s) { s.prompt_event_policy = CoincidencePolicy::other; }).find("promptEventPolicy") !=
        std::string::npos);
  CHECK(why([](S& s) {
          s.singles_histogram_energy_bin_edges_keV[1] = {350, 600, 700};
        }).find("350 to 600 keV") != std::string::npos);
}

TEST_CASE("a histogram of another size is refused by its time") {
  SinglesHistogramBlock block = numbered_block();
  block.histograms[1].pop_back();
  CHECK_THROWS_WITH(SinglesHistograms(singles_scanner()).counts_of(block),
                    doctest::Contains("histogram at 1000 ms: 7 counts for 4 detectors in 2 energy bins"));
}

TEST_CASE("what is stated for singles of a simulation is read so") {
  ScannerInformation scanner = toy::scanner();
  scanner.tof_bin_edges_mm = {{{-300, 0, 300}}, {{-300, 300}, {-300, -100, 100, 300}}};
  state_singles(scanner);
  const auto singles = SinglesHistograms(scanner).counts_of(
      {{0, 1}, {std::vector<std::uint64_t>(12, 3), std::vector<std::uint64_t>(4, 5)}});
  CHECK(singles->unusable == "");
  CHECK(singles->counts.front() == 3);
  CHECK(singles->counts.back() == 5);
  CHECK(singles->window_s > 0);
}
// SPDX-License-Identifier: Apache-2.0
