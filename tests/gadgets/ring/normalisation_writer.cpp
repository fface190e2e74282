// The gadget: decay and live fraction in the calibration, what it warns of and refuses, and the same file from the same
// events.
#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

struct SourceScan {
  TemporaryFolder folder;
  std::string source = (folder / "source.yaml").string();
  EventBatch prompts, delayeds;

  SourceScan() {
    std::ofstream(source)
        << "name: source\nsolids: [{shape: cylinder, radius_mm: 40, length_mm: 60, activity_Bq_mL: 10000}]\n";
    RingScanner ring;
    ring.inner_radius_mm = 100;
    ring.modules_transaxial = 16;
    ring.modules_axial = 2;
    ring.module_pitch_axial_mm = 30;
    ring.crystals_transaxial = ring.crystals_axial = 4;
    ring.crystal_transaxial_mm = ring.crystal_axial_mm = 7;
    ring.pitch_transaxial_mm = ring.pitch_axial_mm = 7.2;
    ring.min_sector_difference = 4;
    Solid solid(Shape::cylinder, {}, {40, 40, 30});
    solid.activity_Bq_mL = 10000;
    EventSimulator simulator(ring, Phantom("source", {solid}), {.seed = 2, .randoms_cps = 2000, .delayeds = true});
    SimulatedEvents made = simulator.next_events(100'000);
    prompts = std::move(made.events);
    delayeds = std::move(made.delayeds);
  }

  RegisteredGadgetTest<void> gadget(const std::string& more = "") const {
    return RegisteredGadgetTest<void>("normalisation_writer", fmt::format("{{source: {}{}}}", source, more),
                                      folder.path());
  }
  /// The calibration that the gadget writes.
  double calibration(const std::string& more, double exposure = 1, double start_s = 0) const {
    auto writer = gadget(more);
    EventBatch batch = prompts.to(Memory::host);
    batch.exposure = exposure;
    batch.start_s = start_s;
    writer.send(delayeds.to(Memory::host));
    writer.send(std::move(batch));
    writer.finish();
    CHECK(writer.context.recorded().rejected.at("delayed coincidences, which estimate the randoms") ==
          delayeds.event_count());
    return static_cast<double>(formats::read_normalisation(folder / "normalisation.yaml").calibration);
  }
};

}  // namespace

TEST_CASE("decay and live fraction are in the calibration, and the same events give the same file") {
  const SourceScan scan;
  const double plain = scan.calibration("");
  CHECK(plain == approx(1e-3).epsilon(0.02));
  const std::string text = text_of(scan.folder / "normalisation.yaml");
  CHECK(scan.calibration("") == plain);
  CHECK(text_of(scan.folder / "normalisation.yaml") == text);
  CHECK(scan.calibration(", dead_time: {live_fraction: 0.5}") == approx(2 * plain).epsilon(1e-4));
  CHECK(scan.calibration("", 0.25) == approx(4 * plain).epsilon(1e-4));
  // The scan begins two half-lives after the time for which the activity is given; it is short.
  CHECK(scan.calibration(", decay: {half_life_s: 50000}", 1, 1e5) == approx(4 * plain).epsilon(1e-3));
  CHECK(scan.calibration(", decay: {half_life_s: 50000, reference_time_s: 100000}", 1, 1e5) ==
        approx(plain).epsilon(1e-3));
}

TEST_CASE("the gadget refuses events that it cannot use, and parameters that do not fit together") {
  const SourceScan scan;
  auto of_two = scan.gadget();
  of_two.send(scan.prompts.to(Memory::host));
  EventBatch other = scan.prompts.to(Memory::host);
  other.scanner = std::make_shared<Scanner>(*scan.prompts.scanner);
  CHECK_THROWS_WITH(of_two.send(std::move(other)), doctest::Contains("events of two scanners"));
  EventBatch nobodys = scan.prompts.to(Memory::host);
  nobodys.scanner = nullptr;
  auto without = scan.gadget();
  CHECK_THROWS_WITH(without.send(std::move(nobodys)), doctest::Contains("which pairs of a scanner's detectors"));
  auto twice = scan.gadget(", dead_time: {live_fraction: 0.9}");
  EventBatch stated = scan.prompts.to(Memory::host);
  stated.exposure = 0.9;
  CHECK_THROWS_WITH(twice.send(std::move(stated)), doctest::Contains("already state the scanner's live fraction"));
  auto nothing = scan.gadget();
  CHECK_THROWS_WITH(nothing.finish(), doctest::Contains("no event came"));
  CHECK_THROWS_WITH(scan.gadget(", decay: {isotope: F-18, half_life_s: 3}"), doctest::Contains("not both"));
  CHECK_THROWS_WITH(scan.gadget(", crystals: false, calibration: false"), doctest::Contains("nothing is to be"));
  CHECK_FALSE(std::filesystem::exists(scan.folder / "normalisation.yaml"));
}
// SPDX-License-Identifier: Apache-2.0
