// Which views are reconstructed together, and the order of a live reconstruction of them.
#include "gadgets/subset/view_groups.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include <doctest/doctest.h>

#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/view_order.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

ViewSet camera_of_heads(int views, int heads) {
  ViewSet set;
  set.size[0] = set.size[1] = 1;
  set.pixel_mm = {1, 1, 1};
  for (int v = 0; v < views / heads; ++v)
    for (int head = 0; head < heads; ++head)
      set.places.push_back(
          {.angle_deg = 360.0f * static_cast<float>(v + head * views / heads) / static_cast<float>(views),
           .radius_mm = 100,
           .duration_s = 1,
           .head = head});
  return set;
}

struct Scan {
  std::shared_ptr<const ViewSet> set;
  ViewOrder order;
  int come = 0;

  explicit Scan(int views, ViewOrderSettings settings)
      : set(std::make_shared<const ViewSet>(camera_of_heads(views, 1))), order(settings) {}

  void view_comes() {
    auto batch = std::make_shared<ViewBatch>();
    batch->set = set;
    batch->records = {{.view = come++}};
    order.arrive(StoredSubset<ViewBatch>{.batches = {batch}});
  }
};

std::vector<int> parts_of(const LiveUpdate& update) {
  std::vector<int> parts;
  for_each_part(update, [&](int k) { parts.push_back(k); });
  return parts;
}

}  // namespace

TEST_CASE("180 views make eight groups, four of 23 and four of 22, which cover the circle whatever the heads") {
  for (const int heads : {1, 2, 3}) {
    CAPTURE(heads);
    const ViewSet set = camera_of_heads(180, heads);
    const std::vector<int> groups = view_groups(set, 8);
    std::map<int, std::vector<float>> angles;
    for (std::size_t v = 0; v < groups.size(); ++v) angles[groups[v]].push_back(set.places[v].angle_deg);
    REQUIRE(angles.size() == 8);
    int of_23 = 0;
    for (auto& [group, all] : angles) {
      of_23 += all.size() == 23 ? 1 : 0;
      CHECK((all.size() == 22 || all.size() == 23));
      std::ranges::sort(all);
      for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] - all[i - 1] == approx(16));
    }
    CHECK(of_23 == 4);
  }
  CHECK_THROWS_WITH(view_groups(camera_of_heads(4, 1), 5), "subsets: 5 of only 4 views: set subsets to 4 or less");
}

TEST_CASE("each group has all tilts, as often as one another and spread over the circle") {
  for (const int tilts : {1, 2, 3, 4, 5})
    for (const int subsets : {1, 2, 3, 4, 6, 8, 10, 12}) {
      CAPTURE(tilts);
      CAPTURE(subsets);
      constexpr int azimuths = 120;
      ViewSet set;
      for (int tilt = 0; tilt < tilts; ++tilt)
        for (int a = 0; a < azimuths; ++a)
          set.places.push_back({.angle_deg = 180.0f * static_cast<float>(a) / azimuths, .head = tilt});
      const std::vector<int> groups = view_groups(set, subsets);
      std::map<int, std::map<int, std::vector<float>>> angles;  // of a group's tilts
      std::map<int, int> sizes;
      for (std::size_t v = 0; v < groups.size(); ++v) {
        angles[groups[v]][set.places[v].head].push_back(set.places[v].angle_deg);
        ++sizes[groups[v]];
      }
      REQUIRE(static_cast<int>(angles.size()) == subsets);
      for (auto& [group, of_tilt] : angles) {
        CHECK(std::abs(sizes[group] * subsets - tilts * azimuths) < subsets);
        REQUIRE(static_cast<int>(of_tilt.size()) == tilts);
        for (auto& [tilt, all] : of_tilt) {
          const int even = azimuths / subsets;
          CHECK(std::abs(static_cast<int>(all.size()) - even) <= 2);
          std::ranges::sort(all);
          for (std::size_t i = 1; i < all.size(); ++i)
            CHECK(all[i] - all[i - 1] <= 2.01f * 180 / static_cast<float>(even) * static_cast<float>(tilts));
        }
      }
    }
}

TEST_CASE("groups follow one another as far apart as can be, each once") {
  CHECK(farthest_apart(1) == std::vector<int>{0});
  CHECK(farthest_apart(8) == std::vector<int>{0, 4, 2, 6, 1, 3, 5, 7});
  for (const int subsets : {2, 3, 5, 12, 23}) {
    std::vector<int> order = farthest_apart(subsets);
    std::ranges::sort(order);
    for (int k = 0; k < subsets; ++k) CHECK(order[static_cast<std::size_t>(k)] == k);
  }
}

TEST_CASE("a new view is used with its group; while there are few views, groups are fewer and larger") {
  Scan scan(64, {.subsets = 8, .least_views = 4, .iterations = 100});
  scan.view_comes();
  REQUIRE(scan.order.next_new(false));
  CHECK(parts_of(*scan.order.next_new(false)) == std::vector<int>{0});
  scan.order.note(*scan.order.next_new(false));
  CHECK(!scan.order.next_new(false));
  for (int v = 1; v < 16; ++v) {
    scan.view_comes();
    const auto update = scan.order.next_new(false);
    REQUIRE(update);
    CHECK(update->is_new);
    const int groups = v + 1 >= 16 ? 4 : v + 1 >= 8 ? 2 : 1;  // divisors of 8 that leave four views in each
    for (const int part : parts_of(*update)) CHECK(part % groups == v % groups);
    scan.order.note(*update);
  }
}

TEST_CASE("idle time goes to the group whose turn is longest ago, up to the updates that each view should have") {
  Scan scan(16, {.subsets = 4, .least_views = 2, .iterations = 2});
  for (int v = 0; v < 16; ++v) scan.view_comes();
  CHECK(!scan.order.next_replay());  // new views go first
  while (const auto update = scan.order.next_new(false)) scan.order.note(*update);
  std::set<int> groups;
  while (const auto update = scan.order.next_replay()) {
    CHECK(!update->is_new);
    groups.insert(scan.order.subset_of(*update));
    scan.order.note(*update);
  }
  CHECK(groups.size() == 4);
  for (int k = 0; k < 16; ++k) CHECK(scan.order.updates_of(k) == 2);
  CHECK(!scan.order.next_missing());
}

TEST_CASE("after the scan each view gets the updates that it lacks, in the order of an offline pass") {
  Scan scan(16, {.subsets = 4, .least_views = 2, .iterations = 2});
  for (int v = 0; v < 16; ++v) scan.view_comes();
  scan.order.note(*scan.order.next_new(true));  // all together, as under a deadline
  std::vector<int> order;
  while (const auto update = scan.order.next_missing()) {
    order.push_back(scan.order.subset_of(*update));
    scan.order.note(*update);
  }
  CHECK(order.size() == 4);
  CHECK(scan.order.in_a_pass() == 4);
  for (int k = 0; k < 4; ++k) CHECK(scan.order.subset_of(scan.order.update_with(k)) == k);
}

TEST_CASE("a record of data that grew is not followed by whole views") {
  CHECK_THROWS_WITH(ViewOrder::require_possible({.update = 3, .parts = {{0, 1}}, .as_of = AsOf{7, 1}}),
                    doctest::Contains("update 3 of the order is of data that grew"));
  CHECK_NOTHROW(ViewOrder::require_possible({.update = 3, .parts = {{0, 1}, {4, 2}}}));
}
// SPDX-License-Identifier: Apache-2.0
