// Efficiencies of pairs that a header gives in closed form, against tables and the scanner that was simulated.
#include "gadgets/io/petsird/closed_form.hpp"

#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "gadgets/ring/io/normalised_header.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

/// As long_axial, but small: flat modules of many crystals, several rings of them, gaps between, lines of every obliqueness.
RingScanner small_long_axial() {
  RingScanner ring;
  ring.inner_radius_mm = 60;
  ring.modules_transaxial = 12;
  ring.modules_axial = 3;
  ring.crystals_transaxial = 5;
  ring.crystals_axial = 7;
  ring.crystal_transaxial_mm = ring.crystal_axial_mm = 2.76;
  ring.pitch_transaxial_mm = ring.pitch_axial_mm = 2.862;
  ring.module_pitch_axial_mm = 22.6;
  ring.layers = {{18.1, 0.83}};
  ring.min_sector_difference = 3;
  ring.max_module_ring_difference = 1;
  ring.crystal_efficiency_spread = 0.4;
  return ring;
}

constexpr std::size_t no_tables = 0;

/// What a reader of the written header finds.
Header written_and_read(const Header& header) {
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), header);
  writer.finish();
  toy::Recording recording;
  toy::decode(bytes, recording);
  return recording.header;
}

/// The largest relative difference of two scanners' efficiencies, over all pairs.
double largest_difference(const Scanner& a, const Scanner& b) {
  REQUIRE(a.detectors->size() == b.detectors->size());
  double worst = 0;
  for (std::uint32_t d1 = 0; d1 < a.detectors->size(); ++d1)
    for (std::uint32_t d2 = 0; d2 <= d1; ++d2) {
      const double one = static_cast<double>(a.efficiency(d1, d2)), two = static_cast<double>(b.efficiency(d1, d2));
      if (one != two) worst = std::max(worst, two > 0 ? std::abs(one / two - 1) : 1);
    }
  return worst;
}

}  // namespace

TEST_CASE("a header in closed form gives each pair the efficiency that its table has, on the same scale") {
  const RingScanner ring = small_long_axial();
  const ScannerHeader tables = header_of(ring), closed = header_of(ring, no_tables);
  CHECK_FALSE(has_closed_form(tables.header.scanner.efficiencies));
  REQUIRE(has_closed_form(closed.header.scanner.efficiencies));
  CHECK(tables.has_efficiencies);
  CHECK(closed.has_efficiencies);
  const Header read = written_and_read(closed.header);
  CHECK(read.scanner == closed.header.scanner);
  const auto scanner = to_scanner(read.scanner);
  CHECK(scanner->pair_tables.empty());
  CHECK(largest_difference(*scanner, *make_scanner(ring)) < 3e-6);
  CHECK(largest_difference(*scanner, *to_scanner(tables.header.scanner)) < 2e-5);
  CHECK(quantity_of(read) == quantity_of(tables.header));
  CHECK(quantity_of(read).unit == "Bq/mL");
  // Whoever does not know the closed form finds no scale, and not a wrong one.
  CHECK(read.scanner.efficiencies.calibration_factor == 1);
}

TEST_CASE("layers that are alike are in the closed form, and others in no header without tables") {
  RingScanner ring = small_long_axial();
  ring.layers = {{9, 0.83}, {9, 0.83}};
  const ScannerHeader alike = header_of(ring, no_tables);
  CHECK(alike.has_efficiencies);
  CHECK(largest_difference(*to_scanner(alike.header.scanner), *make_scanner(ring)) < 1e-5);
  ring.layers = {{9, 0.83}, {9, 0.7}};
  const ScannerHeader unlike = header_of(ring, no_tables);
  CHECK_FALSE(unlike.has_efficiencies);
  CHECK_FALSE(has_closed_form(unlike.header.scanner.efficiencies));
  CHECK(quantity_of(unlike.header).unit.empty());
  CHECK(header_of(ring).has_efficiencies);
}

TEST_CASE("a normalisation in a header in closed form leaves the closed form") {
  const RingScanner ring = small_long_axial();
  Header header = header_of(ring, no_tables).header;
  const auto before = to_scanner(header.scanner);
  const std::vector<float> halves(static_cast<std::size_t>(ring.detectors()), 0.5F);
  set_normalisation(header, {.crystal_efficiency = halves}, "crystals");
  auto after = to_scanner(written_and_read(header).scanner);
  CHECK(quantity_of(header).unit == "Bq/mL");
  const std::uint32_t far = 6 * 35, near = 3;
  const auto crystals = [&](std::uint32_t d) { return static_cast<double>(before->bin_efficiency[d]); };
  CHECK(after->efficiency(far, near) ==
        approx(static_cast<double>(before->efficiency(far, near)) * 0.25 / (crystals(far) * crystals(near)))
            .epsilon(1e-5));
  set_normalisation(header, {.calibration = 2e-3F, .unit = "Bq/mL"}, "calibration");
  CHECK(quantity_of(header).unit == "kBq/mL");
  const auto in_kBq = to_scanner(written_and_read(header).scanner);
  CHECK(in_kBq->efficiency(far, near) ==
        approx(2000 * static_cast<double>(after->efficiency(far, near))).epsilon(1e-5));
}

TEST_CASE("a closed form of crystals or modules that it is not known for is refused") {
  const auto refused = [](auto change, const char* words) {
    ScannerInformation scanner = header_of(small_long_axial(), no_tables).header.scanner;
    change(scanner);
    CAPTURE(words);
    CHECK_THROWS_WITH_AS(to_scanner(scanner), doctest::Contains(words), Error);
  };
  refused([](ScannerInformation& s) { s.bulk_materials.clear(); }, "material 1 of its crystals does not say");
  refused([](ScannerInformation& s) { s.bulk_materials[0] = {1, "glass", 2, {}, {}}; }, "does not say what it stops");
  ScannerInformation two = toy::scanner();
  two.efficiencies.module_pair_efficiencies.clear();
  two.efficiencies.method_description = closed_form_words;
  CHECK_THROWS_WITH_AS(to_scanner(two), doctest::Contains("one type of modules, and it has 2"), Error);
}
// SPDX-License-Identifier: Apache-2.0
