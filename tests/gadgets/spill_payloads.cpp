// Bytes, frames and events come back from disk unchanged.
#include "core/base/spill_file.hpp"
#include "core/gadget/spill.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/wire/raw_frame.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/precompiled.hpp"

using namespace tofstream;

namespace {

template <class T>
T through_disk(const T& payload) {
  const TemporaryFolder folder;
  SpillWriter writer;
  Spill<T>::encode(payload, writer);
  const SpillPiece piece = SpillFile::in(folder.path())->put(writer.parts());
  const auto shared = writer.take_shared();
  SpillReader reader(piece.place(), shared);
  return Spill<T>::decode(reader);
}

EventBatch some_events() {
  EventBatch batch = random_lors(find_workload("W1"), 5000, 7);
  batch.start_s = 3;
  batch.duration_s = 0.5;
  batch.exposure = 0.25;
  batch.delayed = true;
  batch.quantity = std::make_shared<const Quantity>();
  for (std::int64_t i = 0; i < 4; ++i) batch.axis_begin[i] = 1000 * i;
  return batch;
}

void check_same(const EventBatch& got, const EventBatch& wanted) {
  CHECK(got.count == wanted.count);
  CHECK(got.scanner == wanted.scanner);
  CHECK(got.detectors == wanted.detectors);
  CHECK(got.quantity == wanted.quantity);
  CHECK(got.tof == wanted.tof);
  CHECK(got.start_s == wanted.start_s);
  CHECK(got.duration_s == wanted.duration_s);
  CHECK(got.exposure == wanted.exposure);
  CHECK(got.delayed == wanted.delayed);
  CHECK(std::ranges::equal(got.axis_begin, wanted.axis_begin));
  for_each_array_pair(got, wanted, [](const auto& a, const auto& b) { CHECK(a.to_vector() == b.to_vector()); });
  CHECK(got.view().count == wanted.count);
}

}  // namespace

TEST_CASE("bytes and frames come back from disk") {
  const ByteBlock block{std::vector<std::byte>(10'000, std::byte{5})};
  CHECK(std::ranges::equal(through_disk(block).data, block.data));
  CHECK(through_disk(ByteBlock{}).data.empty());
  CHECK(through_disk(ByteBlock{{}, 700}).time_shift_ms == 700);
  RawFrame frame = RawFrame::of({block.data.begin(), block.data.end()}, 17);
  frame.entered = std::chrono::steady_clock::time_point(std::chrono::seconds(5));
  frame.events = 12;
  const RawFrame got = through_disk(frame);
  CHECK(std::ranges::equal(got.data, block.data));
  CHECK(got.ingress_ns == 17);
  CHECK(got.entered == frame.entered);
  CHECK(got.events == 12);
}

TEST_CASE("events come back from disk with all that they say, and share what they shared") {
  const EventBatch batch = some_events();
  check_same(through_disk(batch), batch);
  EventBatch few = random_lors(find_workload("W1"), 3, 7);
  check_same(through_disk(few), few);
}

TEST_CASE("events on a GPU come back from disk on the host") {
  if (!gpu_or_skip()) return;
  const EventBatch batch = some_events();
  const EventBatch got = through_disk(batch.to(Memory::device));
  CHECK(got.memory() == Memory::host);
  check_same(got, batch);
}

TEST_CASE("bytes, frames and events may spill; subsets, back projections and estimates may not") {
  CHECK(payload_type<ByteBlock>().spill);
  CHECK(payload_type<RawFrame>().spill);
  CHECK(payload_type<EventBatch>().spill);
  CHECK(!payload_type<EventSubset>().spill);
  CHECK(!payload_type<Projected>().spill);
  CHECK(!payload_type<Estimate>().spill);
}
// SPDX-License-Identifier: Apache-2.0
