// Which events are noted as beside the body, for the fit of scatter.
#include <cmath>
#include <cstdint>
#include <set>

#include "kernels/ring/scatter/scatter_tails.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"

using namespace tofstream;

TEST_CASE(
    "events are beside the body whose lines pass it at more than the margin, whichever points of them lie in it") {
  RingScanner ring{.name = "few", .inner_radius_mm = 300, .modules_transaxial = 36, .crystals_transaxial = 2};
  ring.crystals_axial = 6;
  ring.crystal_transaxial_mm = ring.pitch_transaxial_mm = 26;
  ring.crystal_axial_mm = ring.pitch_axial_mm = ring.module_pitch_axial_mm = 30;
  Solid water(Shape::cylinder, {60, 0, 0}, {40, 40, 100});  // longer than the scanner
  water.mu_per_cm = 0.096;
  water.activity_Bq_mL = 10;
  const Phantom phantom("water", {water});
  EventSimulator simulator(ring, phantom, {.seed = 7, .randoms_cps = 100000});
  SimulatedEvents made = simulator.next_seconds(0.5);
  made.events.scanner = simulator.scanner();
  Image mu = phantom.mu_image(Grid::centred(60, 40, 60, {4, 4, 4}));
  for (float& value : mu.voxels.span()) value *= 0.1f;
  constexpr double margin = 20, coarse = 12;  // voxels of the body are 8 mm wide
  ScatterTails tails(mu, margin);
  tails.add(made.events);
  std::set<std::uint64_t> noted;
  for (const auto& event : tails.noted().events) noted.insert(event.number);
  REQUIRE(noted.size() > 1000);
  const EventView events = made.events.view();
  std::int64_t near = 0, beside = 0;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const SinogramPlace place = sinogram_place(events.lor(i));
    const double apart = std::abs(static_cast<double>(place.s) - 60 * std::cos(static_cast<double>(place.phi))) - 40;
    const bool is_noted = noted.contains(static_cast<std::uint64_t>(i));
    if (apart < margin - coarse && is_noted) ++near;
    if (apart > margin + coarse && apart < 100 && !is_noted) ++beside;
  }
  CHECK(near == 0);
  CHECK(beside == 0);
}
// SPDX-License-Identifier: Apache-2.0
