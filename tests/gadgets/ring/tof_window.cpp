// The tutorial's gadget does what the tutorial says.
#include "core/testing.hpp"
#include "gadgets/payloads.hpp"

using namespace tofstream;

TEST_CASE("events far from the middle are rejected, every array alike") {
  EventBatch batch;
  batch.count = 3;
  batch.duration_s = 2;
  const float tof[3] = {-50, 1, 50}, x[3] = {1, 2, 3};
  batch.tof_mm = Buffer<float>::from(tof);
  for (auto& end : batch.ends) end = Buffer<float>::from(x);
  RegisteredGadgetTest<EventBatch> gadget("tof_window", "{half_width_mm: 10}");
  gadget.send(std::move(batch));
  const auto kept = gadget.out.pointer(0);
  CHECK(kept->count == 1);
  CHECK(kept->tof_mm.to_vector() == std::vector<float>{1});
  CHECK(kept->ends[4].to_vector() == std::vector<float>{2});
  CHECK(kept->duration_s == 2);
  REQUIRE(kept->quantity);
  CHECK(kept->quantity->rejecting == std::vector<std::string>{"tof_window"});
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("tof_window", "{half_width_mm: -1}"),
                    doctest::Contains("half_width_mm"));
}

TEST_CASE("a window that leaves out nothing leaves the events' quantity as it is") {
  EventBatch batch;
  batch.count = 1;
  const float tof[1] = {5}, x[1] = {1};
  batch.tof_mm = Buffer<float>::from(tof);
  for (auto& end : batch.ends) end = Buffer<float>::from(x);
  const auto quantity = batch.quantity = std::make_shared<const Quantity>(Quantity{.unit = "Bq/mL"});
  RegisteredGadgetTest<EventBatch> gadget("tof_window", "{half_width_mm: 10}");
  gadget.send(std::move(batch));
  CHECK(gadget.out.pointer(0)->quantity == quantity);
}
// SPDX-License-Identifier: Apache-2.0
