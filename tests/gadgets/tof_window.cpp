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
  CHECK_THROWS_WITH(RegisteredGadgetTest<EventBatch>("tof_window", "{half_width_mm: -1}"),
                    doctest::Contains("half_width_mm"));
}
