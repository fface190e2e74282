// Data copied to the device through page-locked memory.
#include <future>
#include <vector>

#include <unistd.h>

#include "kernels/memory/bring.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("data come to the GPU whole from memory of any kind, brought by several threads at a time") {
  if (!gpu_or_skip()) return;
  std::vector<EventBatch> batches;
  for (const Memory memory : {Memory::host, Memory::pinned, Memory::device, Memory::host, Memory::host, Memory::host})
    batches.push_back(random_lors(find_workload("W1"), 100'000, batches.size() + 1).to(memory));
  synchronize(nullptr);
  std::vector<std::future<EventBatch>> coming;
  for (const EventBatch& batch : batches)
    coming.push_back(std::async(std::launch::async, [&batch] { return bring_to_device(batch); }));
  for (std::size_t k = 0; k < batches.size(); ++k) {
    const EventBatch there = coming[k].get();
    CHECK(there.memory() == Memory::device);
    CHECK(there.count == batches[k].count);
    CHECK(there.tof_mm.to_vector() == batches[k].tof_mm.to_vector());
    CHECK(there.ends[5].to_vector() == batches[k].ends[5].to_vector());
  }
}

TEST_CASE(
    "arrays that go to a device later lie in page-locked memory where a device is used, and not too many of them") {
  CHECK(array_to_bring<float>(10).memory() == Memory::host);  // nobody uses one
  if (!gpu_or_skip()) return;
  const auto set_up = set_up_device_ahead();
  CHECK(array_to_bring<float>(10).memory() == Memory::pinned);
  const auto host_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  CHECK_FALSE(few_bytes_are_pinned(static_cast<std::size_t>(host_bytes / 32)));
  CHECK(array_to_bring<char>(host_bytes / 32).memory() == Memory::host);
  CHECK(array_to_bring<float>(10).memory() == Memory::pinned);
}

TEST_CASE("a batch of which some arrays are page-locked lies on the host as a whole, and comes to the GPU as one") {
  if (!gpu_or_skip()) return;
  EventBatch batch = random_lors(find_workload("W1"), 1000, 1);
  const std::vector<float> tof_mm = batch.tof_mm.to_vector();
  batch.tof_mm = batch.tof_mm.to(Memory::pinned);
  CHECK(batch.view().tof_mm == batch.tof_mm.data());
  const EventBatch there = bring_to_device(batch);
  CHECK(there.tof_mm.to_vector() == tof_mm);
  CHECK(there.view().count == 1000);
  batch.tof_mm = batch.tof_mm.to(Memory::device);
  synchronize(nullptr);
  CHECK_THROWS_WITH_AS(batch.view(), doctest::Contains("disagree in size or memory"), std::logic_error);
}

TEST_CASE("without a GPU nothing is brought, and it is said why") {
  if (why_no_cuda().empty()) return;
  CHECK_THROWS_WITH_AS(bring_to_device(random_lors(find_workload("W1"), 10, 1)),
                       doctest::Contains(why_no_cuda().c_str()), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
