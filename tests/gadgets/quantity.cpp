// The quantity of an image, from source to estimate: which gadget adds what.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/image_quantity.hpp"

using namespace tofstream;

namespace {

EventBatch batch_with(Quantity quantity, double duration_s = 2) {
  EventBatch batch;
  batch.count = 4;
  batch.duration_s = duration_s;
  const float x[4] = {1, 2, 3, 4};
  for (auto& end : batch.ends) end = Buffer<float>::from(x);
  batch.quantity = std::make_shared<const Quantity>(std::move(quantity));
  return batch;
}

std::shared_ptr<const Quantity> of_one_subset(const char* yaml, EventBatch batch) {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", yaml);
  gadget.send(std::move(batch));
  gadget.finish();
  return gadget.out.pointer(0)->quantity;
}

const Quantity in_Bq{.unit = "Bq/mL", .scale = "simulated"};

/// There is no context that keeps the log, so marks and states are checked instead.
struct Imaged {
  GadgetRecord record{"projected"};
  Context context{record};
  ImageQuantity image;
  Quantity of(Quantity events, AttenuatedBy sensitivity) {
    sensitivity.gadget = "projected";
    image.set({.attenuation = std::move(sensitivity)}, "how to");
    return *image.of(std::make_shared<const Quantity>(std::move(events)), nullptr, context);
  }
};

}  // namespace

TEST_CASE("subsets say what time's decays an image counts") {
  CHECK(unit_of(*of_one_subset("{subsets: 1, backend: cpu}", batch_with(in_Bq))) == "Bq/mL");
  CHECK(unit_of(*of_one_subset("{events: 2, backend: cpu}", batch_with(in_Bq))) == "Bq/mL");
  const auto whole = of_one_subset("{subsets: 1, reference_s: 0, backend: cpu}", batch_with(in_Bq));
  CHECK(whole->reference_s == 2);
  CHECK(unit_of(*whole) == "Bq s/mL");
  const auto untimed = of_one_subset("{subsets: 1, backend: cpu}", batch_with(in_Bq, 0));
  CHECK(unit_of(*untimed) == "relative");
  CHECK(untimed->scale == "the data state no scan time");
  EventBatch unknown = batch_with(in_Bq);
  unknown.quantity = nullptr;
  CHECK(of_one_subset("{subsets: 1, backend: cpu}", std::move(unknown)) == nullptr);
  Quantity corrected = in_Bq;
  corrected.reference_s = 1;
  CHECK_THROWS_WITH(of_one_subset("{subsets: 1, reference_s: 0, backend: cpu}", batch_with(corrected)),
                    doctest::Contains("put one reference_s at the pipeline's top"));
}

TEST_CASE("a mark holds for all subsets from then on, also where the marked batch had no event left") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{events: 4, iterations: 2, backend: cpu}");
  gadget.send(batch_with(in_Bq));
  EventBatch none;
  none.quantity = with_rejecting(std::make_shared<const Quantity>(in_Bq), "gate");
  gadget.send(std::move(none));
  gadget.send(batch_with(in_Bq));
  gadget.finish();
  REQUIRE(gadget.out.all().size() == 4);
  CHECK(gadget.out.pointer(0)->quantity->rejecting.empty());
  for (std::size_t k = 1; k < 4; ++k) CHECK(gadget.out.pointer(k)->quantity->rejecting.size() == 1);
}

TEST_CASE("attenuation is corrected where the sensitivity holds the map, and maps that differ are named") {
  Quantity attenuated = in_Bq;
  attenuated[Correction::attenuation].state = CorrectionState::called_for;
  Imaged imaged;
  CHECK(imaged.of(attenuated, {})[Correction::attenuation].state == CorrectionState::called_for);
  const AttenuatedBy mu{.gadget = "", .mu_map = "mu.nii", .checksum = 7};
  Quantity image = imaged.of(attenuated, mu);
  CHECK(image[Correction::attenuation].state == CorrectionState::made);
  CHECK(image.marks.empty());

  attenuated.attenuated_by = {"corrected", "mu.nii", 7};
  CHECK(imaged.of(attenuated, mu).marks.empty());
  image = imaged.of(attenuated, {});
  CHECK(image[Correction::attenuation].state == CorrectionState::called_for);
  REQUIRE(image.marks.size() == 1);
  CHECK(image.marks.front() == "not the same mu map: corrected has mu.nii, projected has none");
  attenuated.attenuated_by.checksum = 8;
  CHECK(imaged.of(attenuated, mu).marks.size() == 1);
  // Only the sensitivity needs it: for events it cancels unless there are randoms or scatter.
  attenuated.attenuated_by = {"corrected", "", 0};
  CHECK(imaged.of(attenuated, mu).marks.empty());
  attenuated[Correction::randoms].state = CorrectionState::made;
  CHECK(imaged.of(attenuated, mu).marks.size() == 1);
}

TEST_CASE("a sensitivity with a mu map is told where the data say that nothing attenuated them") {
  Quantity ideal = in_Bq;
  ideal[Correction::attenuation] = {CorrectionState::not_needed, "not simulated"};
  Imaged imaged;
  CHECK(imaged.of(ideal, {}).marks.empty());
  const Quantity image = imaged.of(ideal, {.gadget = "", .mu_map = "mu.nii", .checksum = 7});
  REQUIRE(image.marks.size() == 1);
  CHECK(image.marks.front() == "the data were not attenuated (not simulated), and the sensitivity holds mu.nii");
}
// SPDX-License-Identifier: Apache-2.0
