// Ranges of batches have the data of the whole in their place, whether they are looked at or copied.
#include <cstdint>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/types/parts.hpp"

using namespace tofstream;

TEST_CASE("parts of any number of data follow one another and miss none") {
  for (const std::int64_t count : {0, 1, 7, 1000}) {
    std::int64_t next = 0;
    for (int index = 0; index < 8; ++index) {
      const Part part{index, 8};
      CHECK(part.first(count) == next);
      next += part.size(count);
    }
    CHECK(next == count);
  }
}

TEST_CASE("a range of events is the same looked at and copied") {
  EventBatch batch;
  batch.count = 10;
  batch.tof.sigma_mm = 20;
  batch.exposure = 0.5;
  for (auto& end : batch.ends) end = Buffer<float>::zeros(Memory::host, batch.count);
  batch.tof_mm = Buffer<float>(Memory::host, batch.count);
  batch.counts = Buffer<float>(Memory::host, batch.count);
  batch.arrival = Buffer<std::uint32_t>::zeros(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    batch.ends[4][i] = 10 + static_cast<float>(i);
    batch.tof_mm[i] = static_cast<float>(i);
    batch.counts[i] = 2 * static_cast<float>(i);
  }
  const Range range{3, 4};
  const EventView seen = range_of(batch.view(), range);
  const EventBatch copied = range_of(batch, range, Memory::host);
  REQUIRE(copied.count == 4);
  CHECK(copied.exposure == 0.5);
  CHECK(copied.arrival.empty());
  CHECK(copied.additive.empty());
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(seen.tof_mm[i] == static_cast<float>(i + 3));
    CHECK(copied.tof_mm[i] == seen.tof_mm[i]);
    CHECK(copied.view().ends[4][i] == seen.ends[4][i]);
    CHECK(copied.counts[i] == seen.counts[i]);
  }
}

TEST_CASE("a range of views is the same looked at and copied") {
  ViewSet set;
  set.size[0] = 3;
  set.size[1] = 2;
  for (int v = 0; v < 5; ++v) set.places.push_back({.angle_deg = 10.0f * static_cast<float>(v), .duration_s = 1.0 + v});
  ViewBatch batch{.set = std::make_shared<const ViewSet>(set)};
  for (int v = 4; v >= 0; --v) batch.records.push_back({.view = v, .counts = static_cast<std::uint64_t>(v)});
  batch.count = 30;
  batch.weigh(1);
  batch.counts = Buffer<float>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) batch.counts[i] = static_cast<float>(i);
  const Range range{1, 3};
  const Views seen = range_of(batch.view(), range);
  const ViewBatch copied = range_of(batch, range, Memory::host);
  CHECK(seen.views == 3);
  CHECK(seen.count == 18);
  CHECK(copied.count == 18);
  CHECK(copied.event_count() == 3 + 2 + 1);
  const Views of_copy = copied.view();
  for (int v = 0; v < 3; ++v) {
    CHECK(seen.records[v].view == 3 - v);
    CHECK(of_copy.records[v].view == seen.records[v].view);
    CHECK(of_copy.index[v] == seen.index[v]);
    CHECK(of_copy.weight[v] == seen.weight[v]);
  }
  for (std::int64_t i = 0; i < seen.count; ++i) {
    CHECK(seen.counts[i] == static_cast<float>(i + 6));
    CHECK(of_copy.counts[i] == seen.counts[i]);
  }
}
// SPDX-License-Identifier: Apache-2.0
