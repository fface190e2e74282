// Planned back projections one after the other, of the same plan and of several: none leaves anything that changes the
// next one's result.
#include <cstring>
#include <thread>

#include "kernels/ring/simulate/workloads.hpp"
#include "tests/kernels/ring/planned_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::vector<Operator> tiled_operators() {
  const Grid w1 = find_workload("W1").grid;
  return {joseph(w1), tor(w1, 6), tor(w1, 6, Normalise::slice)};
}

/// Between detectors: none ends in the image. A twentieth of `count` on the CPU, which takes longer.
EventBatch events_of(Backend backend, std::int64_t count, std::uint64_t seed = 7) {
  return random_lors(find_workload("W1"), backend == Backend::cuda ? count : count / 20, seed);
}

/// Values of a kind each: of both signs, none negative, one negative, all negative, zeros, and one far beyond the
/// others, of either sign.
std::vector<Numbers> kinds_of_values(std::int64_t count) {
  const auto positive = random_numbers(count, 2, 0.5f, 1.5f);
  std::vector<Numbers> kinds = {random_numbers(count, 3, -1, 1), positive, positive, random_numbers(count, 4, -2, -1),
                                Numbers(positive.size(), 0.0f),  positive, positive};
  kinds[2][positive.size() / 3] = -1;
  kinds[5][positive.size() / 2] = 1e6f;
  kinds[6][positive.size() / 2] = -1e6f;
  return kinds;
}

/// What a projector that has done nothing before makes of the values.
Numbers fresh_back(const Operator& of, const EventBatch& batch, Backend backend, const Numbers& values) {
  return Planned(of, batch, backend, CudaPath::automatic, true).back(values);
}

/// Each kind of values after each other one, by one plan, the first of them twice.
void check_changed_values(Backend backend) {
  for (const Operator& of : tiled_operators()) {
    CAPTURE(of.what);
    const EventBatch batch = events_of(backend, 20'000);
    const std::vector<Numbers> kinds = kinds_of_values(batch.count);
    std::vector<Numbers> expected;
    for (const Numbers& values : kinds) expected.push_back(fresh_back(of, batch, backend, values));
    const Planned planned(of, batch, backend, CudaPath::automatic, true);
    for (std::size_t before = 0; before < kinds.size(); ++before)
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        CAPTURE(before);
        CAPTURE(kind);
        CHECK(same_bits(planned.back(kinds[before]), expected[before]));
        CHECK(same_bits(planned.back(kinds[kind]), expected[kind]));
      }
    CHECK(same_bits(planned.back(kinds[4], 3), Numbers(expected[4].size(), 3.0f)));  // zeros add nothing
  }
}

/// Negative values keep their sign beside others' passes, and one far beyond the others its size: against the reference.
void check_signs(Backend backend) {
  const Operator of = tor(Grid::centred(21, 18, 14, {4, 4, 4}), 6);
  const EventBatch batch = batch_of(random_lines(of.grid, 300, 42), {40.5f, 0});
  const auto reference = of.make_reference(of.grid);
  const Planned planned(of, batch, backend, CudaPath::tiled);
  for (const Numbers& values : kinds_of_values(batch.count)) {
    Numbers expected(static_cast<std::size_t>(of.grid.voxels()), 0.0f);
    reference->back(batch.view(), values.data(), expected.data());
    const Numbers back = planned.back(values);
    if (largest_of(expected) == 0) {
      CHECK(largest_of(back) == 0);
    } else {
      CHECK(error_of_range(back, expected) < 1.5e-4);
    }
  }
}

/// Back before forward, after it, and beside EM steps, which use the same memory.
void check_turns(Backend backend) {
  for (const Operator& of : tiled_operators()) {
    CAPTURE(of.what);
    const EventBatch batch = events_of(backend, 20'000);
    const auto x = random_numbers(of.grid.voxels(), 1, 0.5f, 1.5f), mixed = random_numbers(batch.count, 2, -1, 1);
    const auto fresh = [&] { return Planned(of, batch, backend, CudaPath::automatic, true); };
    const Numbers back = fresh().back(mixed), forward = fresh().forward(x), em = fresh().em(x);
    const Planned back_first = fresh(), forward_first = fresh(), em_first = fresh();
    CHECK(same_bits(back_first.back(mixed), back));
    CHECK(same_bits(forward_first.forward(x), forward));
    CHECK(same_bits(em_first.em(x), em));
    for (const Planned* planned : {&back_first, &forward_first, &em_first})
      for (int turn = 0; turn < 2; ++turn) {
        CHECK(same_bits(planned->forward(x), forward));
        CHECK(same_bits(planned->back(mixed), back));
        CHECK(same_bits(planned->em(x), em));
        CHECK(same_bits(planned->back(mixed), back));
      }
  }
}

/// Subsets of several sizes take turns in one projector; then one of them gets other events.
void check_sizes_of_subsets(Backend backend) {
  for (const Operator& of : tiled_operators()) {
    CAPTURE(of.what);
    std::vector<EventBatch> batches;
    for (const std::int64_t count : {9'000, 30'000, 6'000}) batches.push_back(events_of(backend, count));
    Planned first(of, batches[0], backend, CudaPath::automatic, true);
    const Planned larger(first, batches[1]), smaller(first, batches[2]);
    const auto values_of = [](const EventBatch& batch) { return random_numbers(batch.count, 2, -1, 1); };
    for (int turn = 0; turn < 2; ++turn) {
      CHECK(same_bits(first.back(values_of(batches[0])), fresh_back(of, batches[0], backend, values_of(batches[0]))));
      CHECK(same_bits(larger.back(values_of(batches[1])), fresh_back(of, batches[1], backend, values_of(batches[1]))));
      CHECK(same_bits(smaller.back(values_of(batches[2])), fresh_back(of, batches[2], backend, values_of(batches[2]))));
    }
    const EventBatch other = events_of(backend, 12'000, 8);
    first.plan_for(other);
    for (int turn = 0; turn < 2; ++turn)
      CHECK(same_bits(first.back(values_of(other)), fresh_back(of, other, backend, values_of(other))));
  }
}

/// Projectors of two threads, each with its plan, beside each other.
void check_threads(Backend backend) {
  const Operator of = tor(find_workload("W1").grid, 6);
  const EventBatch batches[2] = {events_of(backend, 20'000), events_of(backend, 15'000, 8)};
  const std::vector<Numbers> kinds[2] = {kinds_of_values(batches[0].count), kinds_of_values(batches[1].count)};
  std::vector<Numbers> expected[2], found[2];
  for (std::size_t k = 0; k < 2; ++k)
    for (const Numbers& values : kinds[k]) expected[k].push_back(fresh_back(of, batches[k], backend, values));
  const auto work = [&](std::size_t k) {
    const Planned planned(of, batches[k], backend, CudaPath::automatic, true);
    for (const Numbers& values : kinds[k]) found[k].push_back(planned.back(values));
  };
  std::thread beside(work, 1);
  work(0);
  beside.join();
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t kind = 0; kind < kinds[k].size(); ++kind) CHECK(same_bits(found[k][kind], expected[k][kind]));
}

void check_passes(Backend backend) {
  check_changed_values(backend);
  check_signs(backend);
  check_turns(backend);
  check_sizes_of_subsets(backend);
  check_threads(backend);
}

}  // namespace

TEST_CASE("planned back projections on the CPU do not depend on what was projected before") {
  check_passes(Backend::cpu);
}

TEST_CASE("planned back projections on CUDA do not depend on what was projected before") {
  if (!gpu_or_skip()) return;
  check_passes(Backend::cuda);
}
// SPDX-License-Identifier: Apache-2.0
