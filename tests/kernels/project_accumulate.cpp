// Slot images: every event is treated once, sums repeat bit for bit, and an exception leaves nothing
// behind.
#include <stdexcept>

#include "kernels/project/accumulate.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {

namespace {

constexpr std::int64_t voxels = 100, events = 50000;

/// Adds event i's number to voxel i % voxels.
void add_events(std::int64_t begin, std::int64_t end, float* image) {
  for (std::int64_t i = begin; i < end; ++i) image[i % voxels] += 0.1f * static_cast<float>(i % 7);
}

}  // namespace

TEST_CASE("Slot images add every event once, the same way twice") {
  SlotImages slots(voxels);
  std::vector<float> first(voxels, 1.0f), second(voxels, 1.0f), alone(voxels, 1.0f);
  const auto work = [](int, std::int64_t begin, std::int64_t end, float* image) { add_events(begin, end, image); };
  slots.accumulate(events, first.data(), work);
  slots.accumulate(events, second.data(), work);
  add_events(0, events, alone.data());
  CHECK(first == second);
  for (std::size_t v = 0; v < voxels; ++v) CHECK(first[v] == approx(alone[v]).epsilon(1e-5));
}

TEST_CASE("Slot images stay within their budget and take few events in one piece") {
  CHECK(SlotImages(1 << 20, false, 1 << 20).slots() == 1);
  SlotImages slots(1 << 20);
  int calls = 0;
  std::vector<float> target(1 << 20, 0.0f);
  slots.accumulate(100, target.data(), [&](int slot, std::int64_t begin, std::int64_t end, float* image) {
    ++calls;
    CHECK(slot == 0);
    CHECK(begin == 0);
    CHECK(end == 100);
    CHECK(image == target.data());
  });
  CHECK(calls == 1);
}

TEST_CASE("The bytes of slot images are known before there are any") {
  CHECK(SlotImages::bytes(1'000'000, true, 1 << 20) == 15 * 4'000'000);  // 16 slots, one of which needs no image
  CHECK(SlotImages::bytes(8'000'000, true, 1 << 20) == 8 * 32'000'000);  // 2^20 * 256 / 4 / 8e6 = 8.4
  CHECK(SlotImages::bytes(8'000'000, true, 1000) == 0);                  // too few events for a second slot
  CHECK(SlotImages::bytes(voxels, false, events) == (SlotImages(voxels).slots() - 1) * 4 * voxels);
  CHECK(SlotImages::bytes(std::int64_t{1} << 31, false, 1 << 20) == 0);  // one image fills the budget of 8 GiB
}

TEST_CASE("After an exception slot images are clean") {
  SlotImages slots(voxels);
  std::vector<float> target(voxels, 0.0f), clean(voxels, 0.0f);
  CHECK_THROWS_AS(slots.accumulate(events, target.data(),
                                   [](int, std::int64_t begin, std::int64_t end, float* image) {
                                     add_events(begin, end, image);
                                     if (end == events) throw std::runtime_error("work failed");
                                   }),
                  std::runtime_error);
  slots.accumulate(events, clean.data(), [](int, std::int64_t, std::int64_t, float*) {});
  CHECK(clean == std::vector<float>(voxels, 0.0f));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
