// What a header says about scale and corrections, in our simulations and in other files.
#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/quantity.hpp"
#include "gadgets/io/quantity_json.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"

using namespace tofstream;

namespace {

petsird::Header ring_header() {
  RingScanner ring;
  ring.inner_radius_mm = 100;
  ring.modules_transaxial = 8;
  ring.crystals_transaxial = ring.crystals_axial = 2;
  return petsird::header_of(ring).header;
}

}  // namespace

TEST_CASE("a simulated scanner's header gives Bq/mL, and the simulation says what its events need") {
  petsird::Header header = ring_header();
  Quantity plain = petsird::quantity_of(header);
  CHECK(plain.unit == "Bq/mL");
  CHECK(plain[Correction::normalisation].state == CorrectionState::made);
  CHECK(plain[Correction::attenuation].state == CorrectionState::not_made);  // not stated

  Quantity simulated = plain;
  simulated.corrections.fill({CorrectionState::not_needed, ""});
  simulated[Correction::attenuation].state = CorrectionState::called_for;
  simulated[Correction::normalisation].state = CorrectionState::made;
  petsird::state_simulation(header, simulated);
  const Quantity read = petsird::quantity_of(header);
  CHECK(read.unit == "Bq/mL");
  CHECK(read[Correction::normalisation].state == CorrectionState::made);
  CHECK(read[Correction::attenuation].state == CorrectionState::called_for);
  for (const Correction c : {Correction::randoms, Correction::scatter, Correction::dead_time, Correction::decay})
    CHECK(read[c].state == CorrectionState::not_needed);
}

TEST_CASE("another header is relative without a calibration factor, and in kBq/mL with one") {
  petsird::Header header = ring_header();
  header.scanner.efficiencies = {};
  Quantity quantity = petsird::quantity_of(header);
  CHECK(quantity.unit.empty());
  CHECK(quantity[Correction::normalisation].state == CorrectionState::not_made);
  CHECK(not_quantitative_because(quantity).front() == "the header has no calibration factor");
  header.scanner.efficiencies.calibration_factor = 2.5e-7F;
  header.scanner.efficiencies.detection_bin_efficiencies = {{1, 1, 1, 1}};
  quantity = petsird::quantity_of(header);
  CHECK(quantity.unit == "kBq/mL");
  CHECK(quantity[Correction::normalisation].state == CorrectionState::made);
}

TEST_CASE("a quantity goes through JSON as it is, and says what people look for") {
  Quantity quantity = petsird::quantity_of(ring_header());
  quantity.reference_s = 1;
  quantity.rejecting = {"inner (tof_window)"};
  quantity.marks = {"not the same mu map"};
  quantity.attenuated_by = {"corrected", "mu.nii.gz", 12345};
  quantity[Correction::decay] = {CorrectionState::made, "half-life 6586.2 s"};
  const auto json = to_json(quantity);
  CHECK(json.at("unit") == "Bq/mL");
  CHECK(json.at("quantitative") == false);
  CHECK(json.at("not_quantitative").size() == 3);
  CHECK(json.at("corrections").at("decay").at("state") == "made");
  CHECK(quantity_from_json(json) == quantity);
}
// SPDX-License-Identifier: Apache-2.0
