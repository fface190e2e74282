// Where events live: on disk if the host has no room, removed from there with their last reader; and an error in plain
// words if the disk has no room either.
#include "gadgets/subset/event_store.hpp"

#include <filesystem>
#include <fstream>

#include <sys/resource.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/ring/simulate/workloads.hpp"
#include "tests/support/full_disk.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/sanitizer.hpp"

using namespace tofstream;
using StorePlace = EventStore::Place;

namespace {

constexpr std::size_t all_memory = std::size_t{1} << 60;

std::vector<EventBatch> batches_of(std::vector<std::int64_t> counts) {
  std::vector<EventBatch> batches;
  for (const std::int64_t count : counts) batches.push_back(random_lors(find_workload("W1"), count, 7));
  return batches;
}

std::filesystem::path folder_for_test(const char* name) {
  const auto folder = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace

TEST_CASE("events for which the host has no room are read from disk as if they were in memory") {
  const auto folder = folder_for_test("tofstream-event-store");
  {
    EventStore store({.host_reserve = all_memory, .spill_folder = folder});
    EventBatch held = store.hold(random_lors(find_workload("W1"), 1000, 7));
    const auto stored = store.store(batches_of({1000, 1, 70'000}));
    REQUIRE(stored.size() == 3);
    CHECK(store.bytes_in(StorePlace::disk) == std::size_t{71'001} * 28);
    CHECK(store.in_words() == "1.9 MiB on disk");
    CHECK(std::filesystem::is_empty(folder));  // the file has no name: nothing can be left of it
    const EventBatch expected = random_lors(find_workload("W1"), 70'000, 7);
    CHECK(stored[2]->tof_mm.to_vector() == expected.tof_mm.to_vector());
    CHECK(stored[2]->ends[5].to_vector() == expected.ends[5].to_vector());
    CHECK(stored[2]->view().lor(69'999).end1 == expected.view().lor(69'999).end1);
    CHECK(held.ends[0].to_vector() == stored[0]->ends[0].to_vector());

    const float* const place = held.ends[0].data();
    std::vector<EventBatch> again;
    again.push_back(std::move(held));
    const auto stored_again = store.store(std::move(again));
    CHECK(stored_again[0]->ends[0].data() == place);  // it is there already
    CHECK(store.bytes_in(StorePlace::disk) == std::size_t{72'001} * 28);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("while the host has room, events stay as they are") {
  EventStore store({});
  auto batches = batches_of({100, 200});
  const float* const first = batches[0].tof_mm.data();
  const auto stored = store.store(std::move(batches));
  REQUIRE(stored.size() == 2);
  CHECK(stored[0]->tof_mm.data() == first);
  CHECK(store.bytes_in(StorePlace::host) == 300 * 28);
  CHECK(store.places_used() == 1);
}

TEST_CASE("events that nobody holds any more are not counted, also after the store") {
  std::vector<std::shared_ptr<const EventBatch>> stored;
  {
    EventStore store({});
    stored = store.store(batches_of({100, 200}));
    stored.erase(stored.begin());
    CHECK(store.bytes_in(StorePlace::host) == 200 * 28);
    stored.pop_back();
    CHECK(store.in_words() == "none");
    stored = store.store(batches_of({10}));
  }
  CHECK(stored[0]->count == 10);
}

TEST_CASE("a full disk or a folder that cannot be written is one error that says what to do") {
  const auto folder = folder_for_test("tofstream-event-store-full");
  {
    EventStore store({.host_reserve = all_memory, .spill_folder = folder});
    const FullDisk disk(4096);
    CHECK_THROWS_WITH_AS(store.store(batches_of({10'000})),
                         doctest::Contains(": File too large: set spill_folder to a larger disk, or take fewer events"),
                         std::runtime_error);
  }
  CHECK(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
  EventStore nowhere({.host_reserve = all_memory, .spill_folder = folder});
  CHECK_THROWS_WITH_AS(nowhere.hold(random_lors(find_workload("W1"), 10, 7)),
                       doctest::Contains("No such file or directory: set spill_folder"), std::runtime_error);
}

TEST_CASE("events on disk that cannot be mapped are one error that says what to do") {
  if (runs_under_address_sanitizer()) return skip_test("limit that AddressSanitizer's own memory stays below");
  const auto folder = folder_for_test("tofstream-event-store-limit");
  EventStore store({.host_reserve = all_memory, .spill_folder = folder});
  std::vector<EventBatch> batches = batches_of({4'000'000});
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  constexpr std::size_t page = 4096, room = std::size_t{32} << 20;
  const rlimit limit{pages * page + room, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  std::string said;
  try {
    store.store(std::move(batches));
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_AS, &before);
  CHECK_MESSAGE(said.starts_with("cannot read events back from disk: cannot map "), said);
  CHECK_MESSAGE(said.find("ulimit -v") != std::string::npos, said);
  std::filesystem::remove_all(folder);
}

TEST_CASE("events for which the GPU has no room stay in pinned memory, joined to such as are projected at a time") {
  if (!gpu_or_skip()) return;
  EventStore store({.backend = BackendChoice::cuda, .device_reserve = all_memory});
  const auto stored = store.store(batches_of({100, 200}));
  REQUIRE(stored.size() == 1);
  CHECK(stored[0]->count == 300);
  CHECK(stored[0]->memory() == Memory::pinned);
  CHECK(store.bytes_in(StorePlace::pinned) == 300 * 28);
  EventStore roomy({.backend = BackendChoice::cuda});
  const auto there = roomy.store(batches_of({100, 200}));
  REQUIRE(there.size() == 1);
  CHECK(there[0]->memory() == Memory::device);
  CHECK(there[0]->tof_mm.to_vector() == stored[0]->tof_mm.to_vector());
}

TEST_CASE("a batch that is cut no more is brought to the GPU where it has room, and joined there with others") {
  if (!gpu_or_skip()) return;
  std::vector<EventBatch> brought;
  EventStore store({.backend = BackendChoice::cuda});
  for (EventBatch& batch : batches_of({100, 200})) brought.push_back(store.bring(std::move(batch)));
  CHECK(brought[0].memory() == Memory::device);
  CHECK(brought[1].memory() == Memory::device);
  const auto stored = store.store(std::move(brought));
  REQUIRE(stored.size() == 1);
  CHECK(stored[0]->memory() == Memory::device);
  const std::vector<float> tof_mm = stored[0]->tof_mm.to_vector();
  CHECK(std::vector(tof_mm.begin() + 100, tof_mm.end()) == random_lors(find_workload("W1"), 200, 7).tof_mm.to_vector());
  EventStore full({.backend = BackendChoice::cuda, .device_reserve = all_memory});
  CHECK(full.bring(random_lors(find_workload("W1"), 100, 7)).memory() == Memory::host);
}

TEST_CASE("a subset that goes out for the last time is kept no longer") {
  for (const char* parameters :
       {"{events: 40, backend: cpu}", "{subsets: 3, iterations: 2, backend: cpu}", "{seconds: 1, backend: cpu}"}) {
    CAPTURE(parameters);
    RegisteredGadgetTest<EventSubset> gadget("subset_builder", parameters);
    for (auto& batch : batches_of({30, 50, 40})) {
      batch.duration_s = 1;
      gadget.send(std::move(batch));
    }
    gadget.finish();
    const auto subsets = gadget.out.all();
    REQUIRE(!subsets.empty());
    CHECK(subsets.back()->is_last_time);
    CHECK(std::ranges::count(subsets, true, &EventSubset::is_last_time) == 3);  // of two passes in the second alone
    for (const auto& batch : subsets.back()->batches) {
      long readers = 0;  // the subsets that the test holds, without this loop's
      for (const auto& subset : subsets)
        readers += std::ranges::count(subset->batches, batch) + std::ranges::count(subset->next_batches, batch);
      CHECK(batch.use_count() == readers);
    }
  }
}

TEST_CASE("a subset names the batches of the one that follows it") {
  RegisteredGadgetTest<EventSubset> gadget("subset_builder", "{subsets: 3, iterations: 2, backend: cpu}");
  gadget.send(random_lors(find_workload("W1"), 90, 7));
  gadget.finish();
  const auto subsets = gadget.out.all();
  REQUIRE(subsets.size() == 6);
  for (std::size_t s = 0; s + 1 < 6; ++s) CHECK(subsets[s]->next_batches == subsets[s + 1]->batches);
  CHECK(subsets[5]->next_batches.empty());
}
// SPDX-License-Identifier: Apache-2.0
