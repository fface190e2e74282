// Batches that are copied to the GPU one ahead of their use, from memory of any kind.
#include "kernels/project/data_feed.hpp"

#include <fstream>
#include <sstream>

#include "kernels/ring/simulate/workloads.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

TEST_CASE("batches come to the GPU whole and in any order, whether their copy has begun or not") {
  if (!gpu_or_skip()) return;
  std::vector<std::shared_ptr<const EventBatch>> batches;
  for (const Memory memory : {Memory::pinned, Memory::host, Memory::pinned})
    batches.push_back(
        std::make_shared<const EventBatch>(random_lors(find_workload("W1"), 100'000, batches.size() + 1).to(memory)));
  DataFeed<EventBatch> feed;
  const auto check_taken = [&](std::size_t k) {
    const EventBatch there = feed.take(batches[k]);
    CHECK(there.memory() == Memory::device);
    CHECK(there.count == 100'000);
    CHECK(there.tof_mm.to_vector() == batches[k]->tof_mm.to_vector());
    CHECK(there.ends[4].to_vector() == batches[k]->ends[4].to_vector());
  };
  feed.begin(nullptr);
  feed.begin(batches[0]);
  check_taken(0);
  feed.begin(batches[1]);
  feed.begin(batches[1]);
  check_taken(1);
  check_taken(2);  // which was not begun
  feed.begin(batches[0]);
  check_taken(1);  // not the one that was begun
  CHECK(feed.copied_bytes() == 4 * batches[0]->bytes());
  CHECK(feed.copy_seconds() > 0);
  feed.begin(batches[2]);  // never taken
}

TEST_CASE("pinned memory that is given back serves the next buffer of its size") {
  if (!gpu_or_skip()) return;
  const float* first = nullptr;
  {
    const Buffer<float> buffer(Memory::pinned, 1'000'003);
    first = buffer.data();
  }
  CHECK(Buffer<float>(Memory::pinned, 1'000'000).data() == first);
}

TEST_CASE("a child process gets no copy of pinned memory") {
  if (!gpu_or_skip()) return;
  const Buffer<float> buffer(Memory::pinned, 1'000'003);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
      is_here = begin <= address && address < end;
    if (!is_here || !line.starts_with("VmFlags:")) continue;
    CHECK_MESSAGE(line.find(" dc") != std::string::npos, line);
    return;
  }
  FAIL("the buffer lies in no mapping");
}
// SPDX-License-Identifier: Apache-2.0
