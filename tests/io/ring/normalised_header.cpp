// A normalisation in a PETSIRD header: what a reader finds there, and that the data are the same bytes.
#include "gadgets/ring/io/normalised_header.hpp"

#include <cstring>

#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

NormalisationComponents toy_components() {
  NormalisationComponents components{
      .crystal_efficiency = {}, .calibration = 2e-3f, .class_factor = {2, 0.5f, 3, 1}, .unit = "Bq/mL"};
  for (int d = 0; d < 16; ++d) components.crystal_efficiency.push_back(0.5f + 0.03f * static_cast<float>(d));
  return components;
}

toy::Bytes with_new_header(const toy::Bytes& stream, const NormalisationComponents& components, std::size_t chunk) {
  toy::Bytes result;
  HeaderReplacer replacer([&](Header& header) { set_normalisation(header, components, "normalisation n.yaml"); },
                          toy::sink_to(result));
  for (std::size_t at = 0; at < stream.size(); at += chunk)
    replacer.push(std::span(stream).subspan(at, std::min(chunk, stream.size() - at)));
  replacer.finish();
  return result;
}

}  // namespace

TEST_CASE("a reader finds the normalisation's efficiencies, and the stream's blocks as they were") {
  const toy::Bytes stream = toy::stream();
  const NormalisationComponents components = toy_components();
  toy::Recording before;
  toy::decode(stream, before);
  const auto by_file = with_normalisation(*to_scanner(before.header.scanner), components);
  toy::Bytes first;
  for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{997}}) {
    const toy::Bytes made = with_new_header(stream, components, chunk);
    if (first.empty()) first = made;
    CHECK(made == first);
    toy::Recording after;
    toy::decode(made, after);
    CHECK(after.blocks == before.blocks);
    CHECK(after.version == before.version);
    CHECK(after.header.exam == before.header.exam);
    CHECK(after.header.scanner.geometry == before.header.scanner.geometry);
    const auto scanner = to_scanner(after.header.scanner);
    for (std::uint32_t a = 0; a < 16; ++a)
      for (std::uint32_t b = 0; b < a; ++b)
        REQUIRE(scanner->efficiency(a, b) ==
                approx(1000 * static_cast<double>(by_file->efficiency(a, b))).epsilon(1e-5));
    CHECK(quantity_of(after.header).unit == "kBq/mL");
    CHECK(after.header.scanner.efficiencies.method_description == "normalisation n.yaml");
  }
  // The data are the last bytes of both.
  const std::size_t tail = 5000;
  REQUIRE(first.size() > tail);
  REQUIRE(stream.size() > tail);
  CHECK(std::memcmp(first.data() + first.size() - tail, stream.data() + stream.size() - tail, tail) == 0);
}

TEST_CASE("what is not in the normalisation stays, and so does what a header says of a simulation") {
  Header header = toy::header();
  header.scanner.efficiencies.method_description = "made up; trues/s for 1 Bq/mL mm";
  Quantity simulated;
  simulated[Correction::randoms] = {CorrectionState::called_for, "simulated"};
  state_simulation(header, simulated);
  const Quantity before = quantity_of(header);
  const DetectionEfficiencies old = header.scanner.efficiencies;
  set_normalisation(header, {.crystal_efficiency = toy_components().crystal_efficiency}, "crystals");
  CHECK(header.scanner.efficiencies.calibration_factor == old.calibration_factor);
  CHECK(header.scanner.efficiencies.module_pair_efficiencies == old.module_pair_efficiencies);
  CHECK(quantity_of(header).unit == before.unit);
  CHECK(quantity_of(header)[Correction::randoms] == before[Correction::randoms]);
  set_normalisation(header, {.calibration = 3, .unit = "kBq/mL"}, "calibration");
  CHECK(header.scanner.efficiencies.calibration_factor == 3);
  CHECK(quantity_of(header).unit == "kBq/mL");
  CHECK(quantity_of(header)[Correction::randoms] == before[Correction::randoms]);
}

TEST_CASE("a normalisation that does not fit the header is refused") {
  const auto refused = [](const NormalisationComponents& components, const char* words) {
    Header header = toy::header();
    CAPTURE(words);
    CHECK_THROWS_WITH(set_normalisation(header, components, ""), doctest::Contains(words));
  };
  refused({.crystal_efficiency = {1, 2}}, "2 crystal efficiencies for the 16 detectors");
  refused({.class_factor = {1}}, "1 factors of classes for the 4 tables");
  refused({.calibration = 1}, "is for no unit");
  refused({.calibration = 1, .unit = "MBq"}, "is for the unit MBq");
}

TEST_CASE("streams of versions that are not written, and cut ones, are refused") {
  toy::Bytes short_one = toy::stream();
  short_one.resize(9000);
  HeaderReplacer replacer([](Header&) {}, [](std::span<const std::byte>) {});
  replacer.push(short_one);
  CHECK_THROWS_WITH(replacer.finish(), doctest::Contains("ends within its header"));
}
// SPDX-License-Identifier: Apache-2.0
