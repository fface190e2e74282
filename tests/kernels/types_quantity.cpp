// Quantities: units, reasons, and the common quantity of events of several kinds.
#include "kernels/types/join_events.hpp"
#include "kernels/types/quantity.hpp"

using namespace tofstream;

namespace {

Quantity complete() {
  Quantity quantity{.unit = "Bq/mL", .scale = "simulated", .reference_s = 1};
  quantity.corrections.fill({CorrectionState::made, ""});
  return quantity;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("the unit is that of a rate, or of the decays of the reference time, or none") {
  Quantity quantity = complete();
  CHECK(unit_of(quantity) == "Bq/mL");
  quantity.reference_s = 20;
  CHECK(unit_of(quantity) == "Bq s/mL");
  quantity.reference_s = 0;
  CHECK(unit_of(quantity) == "relative");
  quantity = complete();
  quantity.unit.clear();
  CHECK(unit_of(quantity) == "relative");
}

TEST_CASE("an image is quantitative where the scale is known, all is corrected and no events were left out") {
  Quantity quantity = complete();
  CHECK(not_quantitative_because(quantity).empty());
  CHECK(label_of(quantity) == "Bq/mL");
  quantity[Correction::decay].state = CorrectionState::not_made;  // the mean over the scan
  quantity[Correction::dead_time].state = CorrectionState::not_needed;
  CHECK(not_quantitative_because(quantity).empty());
  quantity[Correction::attenuation].state = CorrectionState::called_for;
  quantity[Correction::scatter].state = CorrectionState::not_made;
  CHECK(not_quantitative_because(quantity) == Words{"no correction for attenuation, scatter"});
  quantity.rejecting = {"inner (tof_window)"};
  CHECK(label_of(quantity) ==
        "Bq/mL, not quantitative: inner (tof_window) left out valid events; no correction for attenuation, scatter");
  CHECK(corrections_in(quantity, CorrectionState::made) == Words{"normalisation", "randoms"});
  CHECK(not_quantitative_because(Quantity{}).front() == Quantity{}.scale);
}

TEST_CASE("of events together what either lacks is lacking, and a mark stays") {
  Quantity a = complete(), b = complete();
  b[Correction::randoms].state = CorrectionState::not_made;
  b.rejecting = {"gate"};
  const Quantity both = merged(merged(a, b), a);
  CHECK(both[Correction::randoms].state == CorrectionState::not_made);
  CHECK(both.rejecting == Words{"gate"});
  CHECK(both.unit == "Bq/mL");
  b.unit = "kBq/mL";
  CHECK(unit_of(merged(a, b)) == "relative");
  a.attenuated_by = {"corrected", "a.nii", 1};
  b.attenuated_by = {"corrected", "b.nii", 2};
  CHECK(merged(a, b).marks.size() == 1);
}

TEST_CASE("a correction for decay is said in numbers and in words, and is common to events where they agree") {
  Quantity a = complete(), b = complete();
  CHECK(!decay_correction_of(nullptr));
  CHECK(decay_correction_of(&a) == DecayCorrection{});  // made, and nobody says how
  correct_for_decay(a, {6584.04, 120});
  CHECK(a[Correction::decay] == CorrectionRecord{CorrectionState::made, "half-life 6584.04 s, to 120 s of scan time"});
  CHECK(decay_correction_of(&a) == DecayCorrection{6584.04, 120});
  correct_for_decay(b, {6584.04, 120});
  CHECK(merged(a, b) == a);
  correct_for_decay(b, {6584.04, 0});
  CHECK(decay_correction_of(std::make_unique<Quantity>(merged(a, b)).get()) == DecayCorrection{});
  CHECK(not_quantitative_because(merged(a, b)) == Words{"events were corrected for decay in different ways"});
  CHECK(not_quantitative_because(merged(a, complete())).empty());  // of a checkpoint that does not know it
  a[Correction::decay].state = CorrectionState::not_made;
  CHECK(!decay_correction_of(&a));
}

TEST_CASE("events so far share one record until one says something new") {
  const auto first = std::make_shared<const Quantity>(complete());
  QuantitySoFar all;
  CHECK(all.get() == nullptr);
  all.add(nullptr);
  all.add(first);
  all.add(std::make_shared<const Quantity>(complete()));
  CHECK(all.get() == first);
  const auto marked = with_rejecting(first, "gate");
  CHECK(with_rejecting(marked, "gate") == marked);
  all.add(marked);
  all.add(first);
  CHECK(all.get()->rejecting == Words{"gate"});
}

TEST_CASE("batches keep their quantity through copies, and joined ones have that of both") {
  EventBatch a, b;
  for (EventBatch* batch : {&a, &b}) {
    batch->count = 1;
    const float x[1] = {1};
    for (auto& end : batch->ends) end = Buffer<float>::from(x);
  }
  a.quantity = std::make_shared<const Quantity>(complete());
  b.quantity = with_rejecting(a.quantity, "gate");
  CHECK(a.to(Memory::host).quantity == a.quantity);
  const EventBatch batches[] = {a, b};
  CHECK(join_events(batches, Memory::host).quantity->rejecting == Words{"gate"});
}
// SPDX-License-Identifier: Apache-2.0
