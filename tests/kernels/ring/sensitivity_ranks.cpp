// Sensitivities that several ranks share: the bits of one, whoever drew which pairs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <stdexcept>
#include <vector>

#include "kernels/analysis/compare.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/sensitivity/sensitivity.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid grid = Grid::centred(20, 20, 10, {3, 3, 4});

std::unique_ptr<ListModeProjector> joseph(Backend backend = Backend::cpu) {
  return make_joseph_projector(grid, {.deterministic = true}, backend);
}

/// 3000 lines through the middle, in more than one piece of those that are projected at a time.
class ManyLines final : public RecordedLines {
 public:
  std::int64_t size() const override { return (std::int64_t{5} << 20) + 17; }
  EventBatch lines(std::int64_t begin, std::int64_t) const override {
    EventBatch batch;
    batch.count = 500 + begin / (1 << 20);
    for (auto& end : batch.ends) end = Buffer<float>(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const float t = static_cast<float>((begin + 37 * i) % 41) - 20;
      const float ends[6] = {-100, t, -t / 2, 100, -t / 3, t / 3};
      for (int e = 0; e < 6; ++e) batch.ends[e][i] = ends[e];
    }
    return batch;
  }
  std::string key() const override { return "many"; }
};

Sensitivity by_ranks(const Scanner& scanner, int ranks, const SensitivitySettings& settings, const Image* mu = nullptr,
                     Backend backend = Backend::cpu) {
  const auto first = joseph(backend);
  std::atomic<int> made = 1;
  const ProjectorRanks projectors(*first, ranks, [&] {
    ++made;
    return joseph(backend);
  });
  Sensitivity result = compute_sensitivity(scanner, projectors, settings, mu);
  CHECK(made == ranks);
  return result;
}

void check_same(const Sensitivity& one, const Sensitivity& several) {
  CHECK(several.image.voxels.to_vector() == one.image.voxels.to_vector());
  CHECK(several.pairs == one.pairs);
  CHECK(several.drawn == one.drawn);
  CHECK(several.projected == one.projected);
  CHECK(several.relative_error == one.relative_error);
  REQUIRE(several.noise.empty() == one.noise.empty());
  if (one.noise.empty()) return;
  CHECK(several.noise.held_out.voxels.to_vector() == one.noise.held_out.voxels.to_vector());
  CHECK(several.noise.variance.voxels.to_vector() == one.noise.variance.voxels.to_vector());
}

/// Batches so small that each replicate has several, and their number is no multiple of the ranks.
void check_ranks_give_the_same(Backend backend, int most) {
  const auto ring = make_scanner(two_layer_ring());
  const Image mu = cylinder_mu(grid, 20);
  const SensitivitySettings exact{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 10'000},
      joined{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 1'000, .pairs_a_voxel = 3},
      sampled{.exact_pairs = 0, .error = 0.05, .replicate_pairs = 2'500, .batch_pairs = 1'000};
  for (const SensitivitySettings& settings : {exact, joined, sampled})
    for (const Image* attenuation : {static_cast<const Image*>(nullptr), &mu}) {
      const Sensitivity one = by_ranks(*ring, 1, settings, attenuation, backend);
      CHECK(*std::ranges::max_element(one.image.voxels.span()) > 0);
      for (int ranks = 2; ranks <= most; ++ranks) {
        CAPTURE(ranks);
        check_same(one, by_ranks(*ring, ranks, settings, attenuation, backend));
      }
    }
  Scanner recorded = *ring;
  recorded.lines = std::make_shared<const ManyLines>();
  const Sensitivity one = by_ranks(recorded, 1, {}, nullptr, backend);
  for (int ranks = 2; ranks <= most; ++ranks) check_same(one, by_ranks(recorded, ranks, {}, nullptr, backend));
}

/// Joseph's, whose back projections can be counted and told to fail.
struct Watched final : ListModeProjector {
  explicit Watched(std::atomic<int>& calls, int fails_at = 0) : calls(calls), fails_at(fails_at) {}
  std::unique_ptr<ListModeProjector> own = joseph();
  std::atomic<int>& calls;
  int fails_at;

  const Grid& grid() const override { return own->grid(); }
  Backend backend() const override { return Backend::cpu; }
  float reach_mm() const override { return own->reach_mm(); }
  void forward(const EventView& e, const float* image, float* to, Stream s) override { own->forward(e, image, to, s); }
  void back(const EventView& e, const float* values, float* image, Stream s) override {
    if (++calls == fails_at) throw std::runtime_error("the GPU has fallen off the bus");
    own->back(e, values, image, s);
  }
  EmTally em_step(const EventView& e, const float* image, float* sum, Stream s) override {
    return own->em_step(e, image, sum, s);
  }
};

}  // namespace

TEST_CASE("ranks on a CPU give the bits of one's sensitivity: all pairs, drawn ones, with attenuation, and lines") {
  check_ranks_give_the_same(Backend::cpu, 4);
}

TEST_CASE("ranks on two GPUs give the bits of one's sensitivity") {
  if (!gpu_or_skip()) return;
  if (cuda_devices() < 2) return skip_test("second GPU", "TOFSTREAM_REQUIRE_GPUS");
  check_ranks_give_the_same(Backend::cuda, 2);
}

TEST_CASE("a sum of many batches of pairs is that of each batch, and fewer are added up") {
  const auto ring = make_scanner(two_layer_ring());
  SensitivitySettings settings{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 1'000};
  int batches = 0, sums = 0;
  const auto projector = joseph();
  const Sensitivity each = compute_sensitivity(*ring, *projector, settings, {}, nullptr, [&](double) { ++batches; });
  settings.pairs_a_voxel = 3;  // of 4000 voxels: 12 batches
  const Sensitivity joined = compute_sensitivity(*ring, *projector, settings, {}, nullptr, [&](double) { ++sums; });
  CHECK(sums == (batches + 11) / 12);
  CHECK(joined.projected == each.projected);
  CHECK(compare(joined.image, each.image).nrms < 1e-6);
  settings.pairs_a_voxel = -1;
  CHECK_THROWS_WITH(compute_sensitivity(*ring, *projector, settings), "sensitivity: pairs_a_voxel cannot be -1");
}

TEST_CASE("ranks share a sensitivity's batches evenly, and an error of one ends it") {
  const auto ring = make_scanner(two_layer_ring());
  std::atomic<int> first_calls = 0, other_calls = 0;
  Watched first(first_calls);
  const SensitivitySettings settings{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 10'000};
  compute_sensitivity(*ring, {first, 3, [&] { return std::make_unique<Watched>(other_calls); }}, settings);
  CHECK(first_calls > 3);
  CHECK(std::abs(other_calls - 2 * first_calls) <= 2);
  CHECK_THROWS_WITH(
      compute_sensitivity(
          *ring, {first, 3, [&] { return (other_calls = 0, std::make_unique<Watched>(other_calls, 1)); }}, settings),
      "the GPU has fallen off the bus");
}
TEST_CASE("who makes a sensitivity by ranks waits for each other rank, for longer where the first takes longer") {
  const auto ring = make_scanner(two_layer_ring());
  std::atomic<int> calls = 0;
  Watched first(calls);
  std::map<int, int> waits;
  auto shortest = std::chrono::steady_clock::duration::max(), longest = std::chrono::steady_clock::duration::min();
  const ProjectorRanks projectors(
      first, 3, [&] { return std::make_unique<Watched>(calls); },
      [&](std::future<void>& working, int rank, std::chrono::steady_clock::duration patience) {
        ++waits[rank];
        shortest = std::min(shortest, patience);
        longest = std::max(longest, patience);
        working.wait();
      });
  compute_sensitivity(*ring, projectors, {.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 10'000});
  CHECK(waits.size() == 2);
  CHECK(waits[1] > 1);
  CHECK(shortest > std::chrono::seconds(8));
  CHECK(longest == std::chrono::seconds(60));  // while the projectors are made
}
// SPDX-License-Identifier: Apache-2.0
