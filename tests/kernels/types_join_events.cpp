// Batches joined to one: their events in order, their total time, and which batches may be joined.
#include <numeric>

#include "kernels/ring/simulate/workloads.hpp"
#include "kernels/types/join_events.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::vector<float> tof_of(const EventBatch& batch) {
  return batch.tof_mm.to_vector();
}

EventBatch lines(std::int64_t count, std::uint64_t seed) {
  return random_lors(find_workload("W1"), count, seed);
}

}  // namespace

TEST_CASE("joined batches hold all events in order and the time of all") {
  std::vector<EventBatch> batches;
  std::vector<float> tof;
  for (const int seed : {1, 2, 3}) {
    batches.push_back(lines(10 * seed, static_cast<std::uint64_t>(seed)));
    batches.back().start_s = 4 - seed;
    batches.back().duration_s = seed;
    batches.back().exposure = 0.5 * seed;
    batches.back().arrival = Buffer<std::uint32_t>::zeros(Memory::host, 10 * seed);
    batches.back().axis_begin[3] = 10 * seed;
    const auto more = tof_of(batches.back());
    tof.insert(tof.end(), more.begin(), more.end());
  }
  const EventBatch joined = join_events(batches, Memory::host);
  CHECK(joined.count == 60);
  CHECK(tof_of(joined) == tof);
  CHECK(joined.view().lor(59).end2 == batches[2].view().lor(29).end2);
  CHECK(joined.start_s == 1);
  CHECK(joined.duration_s == 6);
  CHECK(joined.duration_s * joined.exposure == approx(1 * 0.5 + 2 * 1.0 + 3 * 1.5));
  CHECK(joined.arrival.empty());
  CHECK(joined.axis_begin[3] == 0);
  CHECK_THROWS_AS(join_events({}, Memory::host), std::invalid_argument);
}

TEST_CASE("only events of one kind are joined, in groups as large as asked for") {
  const auto plain = [](std::int64_t count) { return lines(count, 1); };
  const auto corrected = [](std::int64_t count) {
    EventBatch batch = lines(count, 1);
    batch.additive = Buffer<float>::zeros(Memory::host, count);
    return batch;
  };
  EventBatch delayed = plain(5);
  delayed.delayed = true;
  CHECK(can_join(plain(5), plain(7)));
  CHECK_FALSE(can_join(plain(5), corrected(5)));
  CHECK_FALSE(can_join(plain(5), delayed));
  const EventBatch different[] = {plain(5), corrected(5)};
  CHECK_THROWS_AS(join_events(different, Memory::host), std::invalid_argument);

  std::vector<EventBatch> batches;
  for (const int count : {40, 30, 20, 0, 50}) {
    batches.push_back(plain(count));
    batches.push_back(corrected(count));
  }
  std::vector<std::int64_t> sizes;
  for (const auto& group : groups_to_join(std::move(batches), 90)) {
    std::int64_t events = 0;
    for (const EventBatch& batch : group) events += batch.count;
    sizes.push_back(events);
  }
  CHECK(sizes == std::vector<std::int64_t>{90, 90, 50, 50});

  std::vector<EventBatch> empty;
  empty.push_back(plain(0));
  empty.push_back(plain(0));
  const auto groups = groups_to_join(std::move(empty), 90);
  REQUIRE(groups.size() == 1);
  CHECK(groups.front().size() == 1);
}
// SPDX-License-Identifier: Apache-2.0
