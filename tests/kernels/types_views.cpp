// Sets and batches of views: what is refused, what a batch says of itself, copies, and batches joined to one.
#include <cmath>

#include "kernels/types/join_views.hpp"
#include "tests/kernels/view_support.hpp"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("A set of views is refused in one line that names what is wrong") {
  CHECK_NOTHROW(circular_views(8, 5, 4).validate());
  const auto refused = [](const char* words, const auto& spoil) {
    ViewSet set = circular_views(8, 5, 4);
    spoil(set);
    CHECK_THROWS_WITH_AS(set.validate(), doctest::Contains(words), std::invalid_argument);
  };
  refused("without views", [](ViewSet& set) { set.places.clear(); });
  refused("size", [](ViewSet& set) { set.size[1] = 0; });
  refused("pixels", [](ViewSet& set) { set.pixel_mm.x = NAN; });
  refused("view 3: radius_mm cannot be 0", [](ViewSet& set) { set.places[3].radius_mm = 0; });
  refused("view 2: angle_deg", [](ViewSet& set) { set.places[2].angle_deg = INFINITY; });
  refused("view 1: duration_s", [](ViewSet& set) { set.places[1].duration_s = -1; });
  refused("views 2 and 5 have one place", [](ViewSet& set) { set.places[5].angle_deg = 90 - 360; });
  ViewSet heads = circular_views(8, 5, 4);
  heads.places[5].angle_deg = 90;
  heads.places[5].head = 1;
  CHECK_NOTHROW(heads.validate());
}

TEST_CASE("A batch of views counts whole counts of the window that is reconstructed") {
  ViewBatch batch = view_batch(circular_views(4, 3, 2), {0, 2});
  batch.records[0].counts = 5;
  batch.records[1].counts = 7;
  CHECK(batch.event_count() == 12);
  batch.window = 1;
  CHECK(batch.event_count() == 0);
}

TEST_CASE("A view weighs by its time and exposure over the reference time") {
  ViewSet set = circular_views(4, 3, 2);
  set.places[2].duration_s = 30;
  ViewBatch batch = view_batch(set, {0, 2});
  batch.records[1].exposure = 0.5;
  batch.weigh(60);
  CHECK(batch.reference_s == 60);
  CHECK(batch.weight[0] == 1);  // no duration: none is known
  CHECK(batch.weight[1] == 0.25f);
  CHECK(batch.index[1] == 2);
  CHECK_THROWS_AS(batch.weigh(0), std::invalid_argument);
}

TEST_CASE("A batch of views gives pointers, and refuses arrays that disagree") {
  ViewBatch batch = view_batch(circular_views(4, 3, 2), {1, 3, 3});
  batch.additive = Buffer<float>::zeros(Memory::host, batch.count);
  const ViewBatch copy = batch.to(Memory::host);
  const Views views = copy.view();
  CHECK(views.count == 18);
  CHECK(views.views == 3);
  CHECK(views.set->places.size() == 4);
  CHECK(views.records[2].view == 3);
  CHECK(views.multiplicative == nullptr);
  CHECK(views.additive == copy.additive.data());
  CHECK(copy.bytes() == 3 * 4 + 3 * 4 + 18 * 4);
  CHECK(copy.without_arrays().bytes() == 0);
  CHECK(copy.without_arrays().count == 18);

  batch.counts = Buffer<float>::zeros(Memory::host, 17);
  CHECK_THROWS_AS(batch.view(), std::logic_error);
  ViewBatch stranger = view_batch(circular_views(4, 3, 2), {1});
  stranger.records[0].view = 4;
  CHECK_THROWS_WITH_AS(stranger.view(), doctest::Contains("view 4"), std::logic_error);
}

TEST_CASE("Joined batches hold all views in order; only views of one kind are joined") {
  const auto set = std::make_shared<const ViewSet>(circular_views(6, 3, 2));
  const auto part = [&](std::vector<int> numbers, float value) {
    ViewBatch batch = view_batch(set, numbers);
    batch.counts = Buffer<float>(Memory::host, batch.count);
    for (float& y : batch.counts.span()) y = value++;
    return batch;
  };
  const ViewBatch a = part({4, 1}, 0), b = part({5}, 12);
  const ViewBatch* both[] = {&a, &b};
  const ViewBatch joined = join_views(both, Memory::host);
  CHECK(joined.count == 18);
  CHECK(joined.index.to_vector() == std::vector<std::int32_t>{4, 1, 5});
  CHECK(joined.view().records[2].view == 5);
  for (std::int64_t i = 0; i < 18; ++i) CHECK(joined.counts[i] == static_cast<float>(i));

  ViewBatch other = part({0}, 0);
  other.window = 1;
  CHECK_FALSE(can_join(a, other));
  const ViewBatch* wrong[] = {&a, &other};
  CHECK_THROWS_AS(join_views(wrong, Memory::host), std::invalid_argument);
  CHECK_THROWS_AS(join_views({}, Memory::host), std::invalid_argument);
  other = part({0}, 0);
  other.additive = Buffer<float>::zeros(Memory::host, other.count);
  CHECK_FALSE(can_join(a, other));
}
// SPDX-License-Identifier: Apache-2.0
