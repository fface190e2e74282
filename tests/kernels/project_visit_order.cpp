// The order in which a core visits events: each once, neighbours together, for any lines.
#include <algorithm>
#include <vector>

#include "kernels/project/visit_order.hpp"
#include "kernels/sort/event_key.hpp"
#include "kernels/sort/partition.hpp"
#include "tests/kernels/line_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid visited_grid = Grid::centred(75, 75, 26, {4, 4, 4});

EventBatch lines(int count) {
  std::vector<Lor> result = random_lines(visited_grid, count, 7);
  for (const Lor& line : awkward_lines()) result.push_back(line);
  return batch_of(result, {.sigma_mm = 20, .bin_width_mm = 5});
}

std::vector<std::uint32_t> order_of(const EventBatch& batch) {
  VisitOrder order(visited_grid);
  const auto indices = order.of(batch.view());
  return {indices.begin(), indices.end()};
}

Vec3 centre(const EventBatch& batch, std::uint32_t i) {
  return detail::tof_centre(batch.view().lor(i), true);
}

}  // namespace

TEST_CASE("every event is visited once, in the same order each time, lines that are none among them") {
  for (const int count : {0, 1, 5000}) {
    const EventBatch batch = lines(count);
    const std::vector<std::uint32_t> order = order_of(batch);
    CHECK(order == order_of(batch));
    std::vector<std::uint32_t> seen = order;
    std::ranges::sort(seen);
    REQUIRE(static_cast<std::int64_t>(seen.size()) == batch.count);
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == i);
  }
}

TEST_CASE("lines of one dominant axis are visited together, and ToF centres come near each other") {
  const EventBatch batch = batch_of(random_lines(visited_grid, 10'000, 7), {.sigma_mm = 20, .bin_width_mm = 5});
  const std::vector<std::uint32_t> order = order_of(batch);
  int changes = 0;
  double way_mm = 0, way_as_they_came_mm = 0;
  for (std::uint32_t i = 1; i < order.size(); ++i) {
    const auto axis = [&](std::uint32_t event) {
      const Lor lor = batch.view().lor(event);
      return detail::predominant_axis(lor.end2 - lor.end1);
    };
    changes += axis(order[i]) != axis(order[i - 1]);
    way_mm += static_cast<double>(norm(centre(batch, order[i]) - centre(batch, order[i - 1])));
    way_as_they_came_mm += static_cast<double>(norm(centre(batch, i) - centre(batch, i - 1)));
  }
  CHECK(changes == 2);
  CHECK(way_mm < 0.3 * way_as_they_came_mm);  // cells of 24 mm, lines of 100 mm
}

TEST_CASE("events that were sorted are known by their first ones") {
  const EventBatch random = batch_of(random_lines(visited_grid, 10'000, 7), {.sigma_mm = 20, .bin_width_mm = 5});
  CHECK_FALSE(comes_in_order(random.view()));
  CHECK(comes_in_order(partition_and_sort(random, Backend::cpu).view()));
  CHECK(comes_in_order(random.view().slice(0, 0)));
}

TEST_CASE("events without ToF are told apart by where their middles lie") {
  EventBatch batch = batch_of(
      {{{-100, 50, 0}, {100, 50, 0}, 0}, {{-100, -50, 0}, {100, -50, 0}, 0}, {{-100, 50, 0}, {100, 50, 0}, 0}}, {});
  CHECK(order_of(batch) == std::vector<std::uint32_t>{0, 2, 1});
}
// SPDX-License-Identifier: Apache-2.0
