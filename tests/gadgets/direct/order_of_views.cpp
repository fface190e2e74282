// The order in which the views of a pass are used: azimuths far apart, tilts in turn.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/testing.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/view_groups.hpp"
#include "gadgets/views.hpp"
#include "kernels/direct/direct.hpp"
#include "tests/command/command.hpp"
#include "tests/kernels/view_support.hpp"

namespace tofstream {
namespace {

ViewSet histo_set_of(int azimuths, int tilts) {
  return direct_view_set(Grid::centred(4, 4, 2, {4, 4, 4}),
                         {.azimuths = azimuths, .tilts = tilts, .acceptance_deg = 10}, HistoLattice::view);
}

/// Between lines, which look alike after half a turn.
double azimuth_between(const ViewPlace& a, const ViewPlace& b) {
  const double apart = std::abs(static_cast<double>(a.angle_deg) - static_cast<double>(b.angle_deg));
  return std::min(apart, 180 - apart);
}

/// The views of a pass over as many groups as there are views.
std::vector<ViewPlace> places_in_order(const ViewSet& set, PassRule rule) {
  const int views = static_cast<int>(set.places.size());
  const std::vector<int> groups = view_groups(set, views);
  std::vector<ViewPlace> places;
  for (const int group : pass_order({rule}, views, 1))
    places.push_back(set.places[static_cast<std::size_t>(std::ranges::find(groups, group) - groups.begin())]);
  return places;
}

double least_step(const std::vector<ViewPlace>& places, std::size_t apart = 1) {
  double least = 180;
  for (std::size_t i = apart; i < places.size(); ++i)
    least = std::min(least, azimuth_between(places[i - apart], places[i]));
  return least;
}

/// As views of one subset each, the numbers of the views in the order in which `gadget` sends them.
std::vector<int> sent_order(const ViewSet& set, const std::string& more) {
  const auto shared = std::make_shared<const ViewSet>(set);
  const TemporaryFolder folder;
  const std::string subsets = std::to_string(set.places.size());
  RegisteredGadgetTest<ViewSubset> test("view_subsets", "{subsets: " + subsets + ", backend: cpu" + more + "}",
                                        folder.path());
  for (int v = 0; v < static_cast<int>(set.places.size()); ++v) {
    ViewBatch view = testing::view_batch(shared, {v});
    testing::set_counts(view, std::vector<float>(static_cast<std::size_t>(view.count), 1.0f));
    view.multiplicative = Buffer<float>::from(std::vector<float>(static_cast<std::size_t>(view.count), 1.0f));
    test.send(std::move(view));
  }
  test.finish();
  std::vector<int> order;
  for (const auto& subset : test.out.all())
    for (const auto& batch : subset->batches) order.push_back(batch->records.front().view);
  return order;
}

}  // namespace

TEST_CASE("histo-images, a view a block: neighbours in a pass are far apart in azimuth, and tilts take turns") {
  struct Case {
    int azimuths, tilts;
    double least_deg;
  };
  for (const Case& each : {Case{40, 3, 67}, Case{24, 3, 67}, Case{36, 5, 64}, Case{40, 1, 76}, Case{40, 2, 67},
                           Case{20, 4, 62}, Case{96, 1, 69}}) {
    CAPTURE(each.azimuths);
    CAPTURE(each.tilts);
    const std::vector<ViewPlace> places = places_in_order(histo_set_of(each.azimuths, each.tilts), PassRule::golden);
    CHECK(least_step(places) > each.least_deg);
    const auto tilts = static_cast<std::size_t>(each.tilts);
    for (std::size_t begin = 0; begin + tilts <= places.size(); ++begin) {
      std::set<float> seen;
      for (std::size_t i = begin; i < begin + tilts; ++i) seen.insert(places[i].tilt_deg);
      CHECK(seen.size() == tilts);
    }
  }
}

TEST_CASE(
    "histo-images of 40 x 3 views: the views of one tilt follow one another far apart too, to the end of a pass") {
  const ViewSet set = histo_set_of(40, 3);
  const std::vector<ViewPlace> golden = places_in_order(set, PassRule::golden);
  CHECK(least_step(golden, 2) > 35);
  CHECK(least_step(golden, 3) > 31);
  // Any eight that follow one another cover the half turn, whose eighth is 22.5 degrees.
  for (std::size_t begin = 0; begin + 8 <= golden.size(); ++begin) {
    std::vector<float> angles;
    for (std::size_t i = begin; i < begin + 8; ++i) angles.push_back(golden[i].angle_deg);
    std::ranges::sort(angles);
    float gap = angles.front() + 180 - angles.back();
    for (std::size_t i = 1; i < angles.size(); ++i) gap = std::max(gap, angles[i] - angles[i - 1]);
    CHECK(gap < 32);
  }
  // What farthest makes of so many, whose ties go to the lowest number.
  CHECK(least_step(places_in_order(set, PassRule::farthest)) < 9.01);
}

TEST_CASE("view_subsets takes histo-images by golden section and a camera's views as before, unless told") {
  const ViewSet histo = histo_set_of(10, 3);
  const auto numbers_of = [](const ViewSet& set, PassRule rule) {
    const int views = static_cast<int>(set.places.size());
    const std::vector<int> groups = view_groups(set, views);
    std::vector<int> numbers;
    for (const int group : pass_order({rule}, views, 1))
      numbers.push_back(static_cast<int>(std::ranges::find(groups, group) - groups.begin()));
    return numbers;
  };
  CHECK(sent_order(histo, "") == numbers_of(histo, PassRule::golden));
  CHECK(sent_order(histo, ", order: farthest") == numbers_of(histo, PassRule::farthest));
  ViewSet camera = testing::circular_views(12, 4, 2);
  CHECK(sent_order(camera, "") == numbers_of(camera, PassRule::farthest));
  CHECK(sent_order(camera, ", order: golden") == numbers_of(camera, PassRule::golden));
}

TEST_CASE("a camera's eight groups by farthest are a quarter of the circle apart at least, so that this stays") {
  const std::vector<int> order = farthest_apart(8);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const int apart = std::abs(order[i] - order[i - 1]);
    CHECK(std::min(apart, 8 - apart) >= 2);
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
