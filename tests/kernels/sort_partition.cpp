// Partition and sort by ToF centre: the same events in the right, stable order, on CPU and CUDA.
#include <array>
#include <random>

#include "kernels/sort/event_key.hpp"
#include "kernels/sort/partition.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

EventBatch random_events(std::int64_t count, std::uint64_t seed, bool free_ends = false) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> coordinate(-300, 300);
  std::normal_distribution<float> tof(0, 60);
  EventBatch batch;
  batch.count = count;
  batch.tof = {40, 0};
  batch.start_s = 10;
  batch.duration_s = 5;
  if (free_ends) {
    for (auto& end : batch.ends) {
      end = Buffer<float>(Memory::host, count);
      for (float& value : end.span()) value = coordinate(random);
    }
  } else {
    std::vector<Vec3> positions(997);
    for (Vec3& p : positions) p = {coordinate(random), coordinate(random), coordinate(random)};
    batch.detectors = std::make_shared<DetectorTable>(positions);
    batch.detector1 = Buffer<std::uint32_t>(Memory::host, count);
    batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
    for (std::int64_t i = 0; i < count; ++i) {
      batch.detector1[i] = static_cast<std::uint32_t>(random() % 997);
      batch.detector2[i] = static_cast<std::uint32_t>(random() % 997);
    }
  }
  batch.tof_mm = Buffer<float>(Memory::host, count);
  batch.additive = Buffer<float>(Memory::host, count);
  for (std::int64_t i = 0; i < count; ++i) {
    batch.tof_mm[i] = tof(random);
    batch.additive[i] = static_cast<float>(i);  // identifies the event
  }
  return batch;
}

/// An event's values, wherever it lies in a batch.
std::array<float, 8> contents(const EventView& view, std::int64_t i) {
  const Lor lor = view.lor(i);
  return {lor.end1.x, lor.end1.y, lor.end1.z, lor.end2.x, lor.end2.y, lor.end2.z, lor.tof_mm, view.additive[i]};
}

void check_sorted(const EventBatch& original, const EventBatch& sorted, SortKey order) {
  REQUIRE(sorted.count == original.count);
  REQUIRE(sorted.arrival.size() == original.count);
  CHECK(sorted.axis_begin[0] == 0);
  CHECK(sorted.axis_begin[3] == sorted.count);
  const EventView before = original.view(), after = sorted.view();
  const detail::EventKey key{after, order, 0.125f};
  std::vector<bool> seen(static_cast<std::size_t>(sorted.count));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < sorted.count; ++i) {
    const std::uint32_t rank = sorted.arrival[i];
    REQUIRE(rank < original.count);
    wrong += seen[rank];
    seen[rank] = true;
    wrong += contents(after, i) != contents(before, rank);
    const Lor lor = after.lor(i);
    const int axis = detail::predominant_axis(lor.end2 - lor.end1);
    wrong += i < sorted.axis_begin[axis] || i >= sorted.axis_begin[axis + 1];
    if (i == 0) continue;
    wrong += key(i - 1) > key(i) || (key(i - 1) == key(i) && sorted.arrival[i - 1] >= rank);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a sort is a stable permutation in key order, detector ids and free ends") {
  for (const SortKey order : {SortKey::tof_centre, SortKey::morton}) {
    for (const bool free_ends : {false, true}) {
      for (const std::int64_t count : {0, 1, 2, 1000, 200003}) {
        CAPTURE(count);
        const EventBatch original = random_events(count, 7, free_ends);
        const EventBatch sorted =
            partition_and_sort(original.to(Memory::host), Backend::cpu, nullptr, {.key = order, .cell_mm = 8});
        check_sorted(original, sorted, order);
      }
    }
  }
}

TEST_CASE("tof_centre sorts by midpoint + tof along the predominant axis") {
  const EventBatch sorted =
      partition_and_sort(random_events(50000, 3), Backend::cpu, nullptr, {.key = SortKey::tof_centre, .cell_mm = 8});
  const EventView view = sorted.view();
  for (int axis = 0; axis < 3; ++axis) {
    double previous = -1e9;
    CHECK(sorted.axis_begin[axis + 1] > sorted.axis_begin[axis]);
    for (std::int64_t i = sorted.axis_begin[axis]; i < sorted.axis_begin[axis + 1]; ++i) {
      const Lor lor = view.lor(i);
      if (lor.end1 == lor.end2) continue;  // no direction
      const Vec3d a = lor.end1.as<double>(), d = lor.end2.as<double>() - a;
      const double centre = a[axis] + (0.5 + static_cast<double>(lor.tof_mm) / norm(d)) * d[axis];
      REQUIRE(centre >= previous - 1e-4);
      previous = centre;
      for (int other = 0; other < 3; ++other) REQUIRE(std::abs(d[other]) <= std::abs(d[axis]));
    }
  }
}

TEST_CASE("events with equal keys stay in order, and degenerate ones are kept") {
  EventBatch batch = random_events(40000, 1, true);
  for (auto& end : batch.ends) std::ranges::fill(end.span(), 12.5f);  // both ends in one point
  const EventBatch same = partition_and_sort(batch.to(Memory::host), Backend::cpu);
  for (std::int64_t i = 0; i < same.count; ++i) REQUIRE(same.arrival[i] == i);

  batch.ends[0][5] = std::nanf("");
  batch.ends[1][6] = INFINITY;
  batch.ends[2][7] = 1e30f;
  const EventBatch odd = partition_and_sort(std::move(batch), Backend::cpu);
  std::vector<float> names = odd.additive.to_vector();
  std::ranges::sort(names);
  for (std::size_t i = 0; i < names.size(); ++i) REQUIRE(names[i] == static_cast<float>(i));
}

TEST_CASE("a second sort carries the ranks of arrival along") {
  const EventBatch original = random_events(5000, 11);
  const EventBatch sorted = partition_and_sort(original.to(Memory::host), Backend::cpu);
  const EventBatch again = partition_and_sort(sorted.to(Memory::host), Backend::cpu);
  CHECK(again.arrival.to_vector() == sorted.arrival.to_vector());
  check_sorted(original, again, SortKey::morton);
}

TEST_CASE("a sort refuses cells without size") {
  CHECK_THROWS_AS(
      partition_and_sort(random_events(3, 1), Backend::cpu, nullptr, {.key = SortKey::morton, .cell_mm = 0}),
      std::invalid_argument);
}

namespace {

void check_pieces(const EventBatch& original, const EventBatch& sorted, const std::vector<std::int64_t>& cuts,
                  std::vector<EventBatch> pieces, ArrivalRanks ranks = ArrivalRanks::dropped) {
  REQUIRE(pieces.size() == cuts.size() + 1);
  const EventView before = original.view(), whole = sorted.view();
  double time = original.start_s;
  std::int64_t first = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::int64_t last = p < cuts.size() ? cuts[p] : sorted.count;
    EventBatch piece = pieces[p].to(Memory::host);
    synchronize(nullptr);
    REQUIRE(piece.count == last - first);
    CHECK(piece.arrival.empty() == (ranks == ArrivalRanks::dropped || piece.count == 0));
    CHECK(piece.start_s == approx(time));
    CHECK(piece.duration_s ==
          approx(original.duration_s * static_cast<double>(piece.count) / static_cast<double>(sorted.count)));
    time += piece.duration_s;
    const EventView view = piece.view();
    std::int64_t i = 0;  // the piece is the sorted batch without the events of other pieces
    for (int axis = 0; axis < 3; ++axis) {
      CHECK(piece.axis_begin[axis] == i);
      for (std::int64_t k = sorted.axis_begin[axis]; k < sorted.axis_begin[axis + 1]; ++k) {
        const std::int64_t rank = sorted.arrival[k];
        if (rank < first || rank >= last) continue;
        REQUIRE(contents(view, i) == contents(before, rank));
        REQUIRE(contents(view, i) == contents(whole, k));
        if (ranks == ArrivalRanks::kept) REQUIRE(std::int64_t{piece.arrival[i]} == rank - first);
        ++i;
      }
    }
    CHECK(piece.axis_begin[3] == piece.count);
    CHECK(i == piece.count);
    first = last;
  }
  CHECK(time == approx(original.start_s + original.duration_s));
}

void check_dealt(const EventBatch& original, const EventBatch& sorted, std::int64_t from,
                 std::vector<EventBatch> pieces) {
  const EventView whole = sorted.view();
  std::int64_t count = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    EventBatch piece = pieces[p].to(Memory::host);
    synchronize(nullptr);
    CHECK(piece.arrival.empty());
    CHECK(piece.start_s == original.start_s);
    CHECK(piece.duration_s == approx(original.duration_s / static_cast<double>(pieces.size())));
    const EventView view = piece.view();
    std::int64_t i = 0;  // the piece is the sorted batch without the events of other pieces
    for (int axis = 0; axis < 3; ++axis) {
      CHECK(piece.axis_begin[axis] == i);
      for (std::int64_t k = sorted.axis_begin[axis]; k < sorted.axis_begin[axis + 1]; ++k) {
        if (static_cast<std::size_t>(from + sorted.arrival[k]) % pieces.size() != p) continue;
        REQUIRE(contents(view, i) == contents(whole, k));
        ++i;
      }
    }
    CHECK(piece.axis_begin[3] == piece.count);
    CHECK(i == piece.count);
    count += piece.count;
  }
  CHECK(count == original.count);
}

}  // namespace

TEST_CASE("a sorted batch is dealt out like cards, from any event of the stream on, and each piece is sorted") {
  const EventBatch original = random_events(10000, 5);
  const EventBatch sorted = partition_and_sort(original.to(Memory::host), Backend::cpu);
  for (const int pieces : {1, 2, 7})
    for (const std::int64_t from : {0, 3, 12345})
      check_dealt(original, sorted, from, deal_by_arrival(sorted.to(Memory::host), pieces, from));
  const auto unsorted = deal_by_arrival(original.to(Memory::host), 3, 4);
  CHECK(unsorted[1].additive.to_vector()[1] == 3);  // event 7 of the stream
  CHECK(deal_by_arrival(EventBatch{}, 2, 0).size() == 2);
  CHECK(deal_by_arrival(random_events(2, 1), 5, 0)[4].count == 0);
  CHECK_THROWS_AS(deal_by_arrival(random_events(2, 1), 0, 0), std::invalid_argument);
}

TEST_CASE("a sorted batch is cut into pieces consecutive in time, each sorted") {
  const EventBatch original = random_events(60000, 5);
  const EventBatch sorted = partition_and_sort(original.to(Memory::host), Backend::cpu);
  const std::vector<std::int64_t> cuts = {1, 20000, 20000, 59990};
  check_pieces(original, sorted, cuts, split_by_arrival(sorted.to(Memory::host), cuts));
  check_pieces(original, sorted, {}, split_by_arrival(sorted.to(Memory::host), {}));
  for (const auto& kept : {cuts, std::vector<std::int64_t>{}})
    check_pieces(original, sorted, kept, split_by_arrival(sorted.to(Memory::host), kept, nullptr, ArrivalRanks::kept),
                 ArrivalRanks::kept);
}

TEST_CASE("an unsorted batch is cut in its own order, and an empty one into empty pieces") {
  const EventBatch original = random_events(1000, 5);
  const std::vector<std::int64_t> cuts = {400};
  const auto pieces = split_by_arrival(original.to(Memory::host), cuts);
  CHECK(pieces[0].additive.to_vector().back() == 399);
  CHECK(pieces[1].additive.to_vector().front() == 400);
  CHECK(pieces[1].axis_begin[3] == 0);
  const std::vector<std::int64_t> zero = {0, 0};
  for (const EventBatch& piece : split_by_arrival(EventBatch{}, zero)) CHECK(piece.count == 0);
}

TEST_CASE("cuts that fall or lie outside the batch are refused") {
  for (const std::vector<std::int64_t>& cuts : {std::vector<std::int64_t>{5, 4}, {-1}, {11}, {3, 11}})
    CHECK_THROWS_AS(split_by_arrival(random_events(10, 1), cuts), std::invalid_argument);
}

TEST_CASE("CUDA sorts and cuts as the CPU does") {
  if (!gpu_or_skip()) return;
  for (const SortKey order : {SortKey::tof_centre, SortKey::morton}) {
    for (const bool free_ends : {false, true}) {
      for (const std::int64_t count : {0, 1, 300000}) {
        const EventBatch original = random_events(count, 9, free_ends);
        const SortSettings settings{.key = order, .cell_mm = 8};
        const EventBatch cpu = partition_and_sort(original.to(Memory::host), Backend::cpu, nullptr, settings);
        EventBatch cuda = partition_and_sort(original.to(Memory::host), Backend::cuda, nullptr, settings);
        CHECK(cuda.arrival.to_vector() == cpu.arrival.to_vector());
        CHECK(cuda.tof_mm.to_vector() == cpu.tof_mm.to_vector());
        CHECK(cuda.detector2.to_vector() == cpu.detector2.to_vector());
        for (int a = 0; a < 4; ++a) CHECK(cuda.axis_begin[a] == cpu.axis_begin[a]);
        if (count < 2) continue;
        const std::vector<std::int64_t> cuts = {1000, 250000};
        check_dealt(original, cpu, 3, deal_by_arrival(cuda.to(Memory::device), 4, 3));
        check_pieces(original, cpu, cuts, split_by_arrival(cuda.to(Memory::device), cuts, nullptr, ArrivalRanks::kept),
                     ArrivalRanks::kept);
        check_pieces(original, cpu, cuts, split_by_arrival(std::move(cuda), cuts));
      }
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
