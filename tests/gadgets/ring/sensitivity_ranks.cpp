// A sensitivity that several processes make has the bits of one's, and one that hangs in it is told.
#include "gadgets/ring/sensitivity_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/base/private_folder.hpp"
#include "core/testing.hpp"
#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/io/wire/packed_lines.hpp"
#include "kernels/project/spread/spread_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/types/recorded_lines.hpp"
#include "tests/gadgets/rank_on_thread.hpp"
#include "tests/kernels/ring/sensitivity_support.hpp"

using namespace tofstream;
using namespace std::chrono_literals;

namespace {

const Grid shared_grid = Grid::centred(20, 20, 10, {3, 3, 4});

/// Some thousand lines, in more pieces than ranks; those of the second half between the scanner's detectors.
class SomeLines final : public RecordedLines {
 public:
  explicit SomeLines(std::shared_ptr<const DetectorTable> detectors) : detectors_(std::move(detectors)) {}
  std::int64_t size() const override { return (std::int64_t{4} << 20) + 17; }
  EventBatch lines(std::int64_t begin, std::int64_t) const override {
    EventBatch batch;
    batch.count = begin == 0 ? 0 : 500 + begin / (1 << 20);  // of the first piece none can count
    if (begin >= 2 << 20) return between_detectors(std::move(batch));
    for (auto& end : batch.ends) end = Buffer<float>(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const float t = static_cast<float>((begin + 37 * i) % 41) - 20;
      const float ends[6] = {-100, t, -t / 2, 100, -t / 3, t / 3};
      for (int e = 0; e < 6; ++e) batch.ends[e][i] = ends[e];
    }
    return batch;
  }
  std::string key() const override { return "some"; }

 private:
  EventBatch between_detectors(EventBatch batch) const {
    batch.detectors = detectors_;
    batch.detector1 = Buffer<std::uint32_t>(Memory::host, batch.count);
    batch.detector2 = Buffer<std::uint32_t>(Memory::host, batch.count);
    batch.multiplicative = Buffer<float>(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      batch.detector1[i] = static_cast<std::uint32_t>(i % detectors_->size());
      batch.detector2[i] = static_cast<std::uint32_t>((i * 7 + 11) % detectors_->size());
      batch.multiplicative[i] = 1 + 0.1f * static_cast<float>(i % 5);
    }
    return batch;
  }
  std::shared_ptr<const DetectorTable> detectors_;
};

/// Bins of which each joins two pairs of detectors.
class JoinedLines final : public RecordedLines {
 public:
  explicit JoinedLines(std::uint32_t detectors) : detectors_(detectors) {}
  std::int64_t size() const override { return (std::int64_t{3} << 20) + 5; }
  EventBatch lines(std::int64_t begin, std::int64_t) const override {
    EventBatch batch;
    batch.count = 300;
    batch.bin = Buffer<std::uint32_t>(Memory::host, batch.count);
    for (auto& end : batch.ends) end = Buffer<float>::zeros(Memory::host, batch.count);
    for (std::int64_t i = 0; i < batch.count; ++i) {
      batch.ends[0][i] = -100;
      batch.ends[3][i] = 100;
      batch.bin[i] = static_cast<std::uint32_t>((begin + 7 * i) % 4001);  // in no order
    }
    return batch;
  }
  bool are_spread() const override { return true; }
  BinPairs pairs(std::span<const std::uint32_t> bins) const override {
    BinPairs pairs{.first = {0}};
    for (const std::uint32_t bin : bins) {
      for (const std::uint32_t further : {0u, 3u}) {
        pairs.detector1.push_back((bin + further) % detectors_);
        pairs.detector2.push_back((bin * 5 + 17 + further) % detectors_);
      }
      pairs.first.push_back(static_cast<std::int64_t>(pairs.detector1.size()));
    }
    return pairs;
  }
  std::string key() const override { return "joined"; }

 private:
  std::uint32_t detectors_;
};

std::unique_ptr<ListModeProjector> shared_joseph() {
  return make_joseph_projector(shared_grid, {.deterministic = true}, Backend::cpu);
}
std::unique_ptr<ListModeProjector> shared_joseph(const Scanner& scanner) {
  return spread_where_asked(shared_joseph(), std::make_shared<const Scanner>(scanner));
}

/// By so many processes, those but the first on threads of this one.
Sensitivity by_processes(const Scanner& scanner, int ranks, const SensitivitySettings& settings, const MuMaps& mu) {
  const auto first = shared_joseph(scanner);
  const PrivateTemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
  std::vector<std::unique_ptr<RankOnThread>> others;
  for (int rank = 1; rank < ranks; ++rank)
    others.push_back(
        std::make_unique<RankOnThread>(endpoint, RankIdentity{{rank, ranks}, "elsewhere", 0, "program", "pipeline", ""},
                                       pipeline_of("joseph_projector", "{deterministic: true}")));
  RankGroup group({.own = {{0, ranks}, "here", 0, "program", "pipeline", ""}, .endpoint = endpoint});
  Sensitivity made;
  {
    TestContext context("joseph_projector");
    ProcessesAtSensitivity processes(group, shared_grid, Backend::cpu, context);
    made = compute_sensitivity(scanner, {*first, processes, ranks}, settings, mu);
  }
  group.end(0);
  for (const auto& other : others) CHECK(other->batches > 0);
  return made;
}

void check_processes_give_the_same(const Scanner& scanner, const SensitivitySettings& settings, const MuMaps& mu = {}) {
  const auto first = shared_joseph(scanner);
  const Sensitivity one = compute_sensitivity(scanner, *first, settings, mu);
  CHECK(*std::ranges::max_element(one.image.voxels.span()) > 0);
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    const Sensitivity several = by_processes(scanner, ranks, settings, mu);
    CHECK(several.image.voxels.to_vector() == one.image.voxels.to_vector());
    CHECK(several.drawn == one.drawn);
    CHECK(several.projected == one.projected);
    CHECK(several.relative_error == one.relative_error);
    CHECK(several.noise.variance.voxels.to_vector() == one.noise.variance.voxels.to_vector());
  }
}

constexpr SensitivitySettings all_pairs{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 10'000},
    drawn_pairs{.exact_pairs = 0, .error = 0.05, .replicate_pairs = 2'500, .batch_pairs = 1'000};

}  // namespace

TEST_CASE("processes give the bits of one's sensitivity: all pairs, drawn ones, with attenuation, and lines of ranks") {
  const auto ring = make_scanner(testing::two_layer_ring());
  const Image mu = testing::cylinder_mu(shared_grid, 20);
  for (const SensitivitySettings& settings : {all_pairs, drawn_pairs})
    for (const Image* map : {static_cast<const Image*>(nullptr), &mu})
      check_processes_give_the_same(*ring, settings, {map, map});
  Scanner recorded = *ring;
  recorded.lines = std::make_shared<const SomeLines>(ring->detectors);
  check_processes_give_the_same(recorded, {}, &mu);
  recorded.lines = std::make_shared<const JoinedLines>(static_cast<std::uint32_t>(ring->detectors->size()));
  check_processes_give_the_same(recorded, {}, &mu);
}

TEST_CASE("lines of bins are known where they came, whatever their order, and others are refused") {
  wire::ReceivedLines lines;
  const std::vector<std::uint32_t> bins = {9, 2, 5}, others = {7};
  lines.add(1, bins, {{1, 2, 3}, {4, 5, 6}, {0, 2, 2, 3}});
  lines.add(2, others, {{8}, {9}, {0, 1}});
  const std::vector<std::uint32_t> asked = {5, 7, 9, 2};
  const BinPairs pairs = lines.pairs(asked);
  CHECK(pairs.detector1 == std::vector<std::uint32_t>{3, 8, 1, 2});
  CHECK(pairs.detector2 == std::vector<std::uint32_t>{6, 9, 4, 5});
  CHECK(pairs.first == std::vector<std::int64_t>{0, 1, 2, 4, 4});
  lines.forget(2);
  CHECK_THROWS_WITH(lines.pairs(asked), "the lines of a bin did not come to this rank");
  CHECK_THROWS_AS(lines.lines(0, 1), std::logic_error);
  Scanner spread = *make_scanner(testing::two_layer_ring()), single = spread;
  spread.lines = std::make_shared<wire::ReceivedLines>();
  const auto read = [&](const Scanner& scanner, const BinPairs& of_one) {
    wire::PackWriter to;
    to.value(std::uint32_t{1});
    to.array(std::span<const std::uint32_t>(of_one.detector1), nullptr);
    to.array(std::span<const std::uint32_t>(of_one.detector2), nullptr);
    to.array(std::span<const std::int64_t>(of_one.first), nullptr);
    std::vector<std::byte> bytes;
    for (const auto& piece : to.take()) bytes.insert(bytes.end(), piece.bytes.begin(), piece.bytes.end());
    wire::PackReader from(bytes);
    wire::unpack_bin_pairs(from, scanner, 1, others);
  };
  read(spread, {{1}, {2}, {0, 1}});
  CHECK_THROWS_WITH(read(single, {{1}, {2}, {0, 1}}), doctest::Contains("lines of bins that are single lines"));
  const auto most = static_cast<std::uint32_t>(spread.detectors->size());
  for (const BinPairs& wrong :
       {BinPairs{{1}, {2}, {0}}, BinPairs{{1}, {2}, {0, 2}}, BinPairs{{1}, {}, {0, 1}}, BinPairs{{1}, {2}, {1, 1}},
        BinPairs{{1}, {most}, {0, 1}}, BinPairs{{most}, {2}, {0, 1}}})
    CHECK_THROWS_AS(read(spread, wrong), std::runtime_error);
}

TEST_CASE("ranks know a scanner's efficiencies, live fractions and poses") {
  Scanner scanner = testing::toy_scanner();
  const SensitivitySettings settings{.exact_pairs = std::int64_t{1} << 40, .batch_pairs = 100};
  check_processes_give_the_same(scanner, settings);
  LivePattern live{scanner.modules(), std::vector<float>(std::size_t{scanner.modules()} * scanner.modules(), 0.9f)};
  live.factor[1] = live.factor[scanner.modules()] = 0.5f;
  scanner.live = std::make_shared<const LivePattern>(live);
  RigidPose moved;
  moved.shift_mm = {3, -2, 1};
  scanner.poses = std::make_shared<const PoseShares>(PoseShares{{RigidPose{}, 0.75}, {moved, 0.25}});
  check_processes_give_the_same(scanner, settings);
}

TEST_CASE("a scanner with its efficiencies comes as it went, and nothing wrong of ranks is read beyond its tables") {
  wire::PackWriter to;
  wire::pack_with_efficiencies(to, testing::toy_scanner());
  std::vector<std::byte> whole;
  for (const auto& piece : to.take()) whole.insert(whole.end(), piece.bytes.begin(), piece.bytes.end());
  const auto read = [](std::vector<std::byte> bytes) {
    wire::PackReader from(bytes);
    const auto scanner = wire::unpack_scanner_with_efficiencies(from);
    from.require_end();
    return scanner;
  };
  const auto came = read(whole);
  CHECK(came->bin_efficiency == testing::toy_scanner().bin_efficiency);
  CHECK(came->efficiency(40, 3) == testing::toy_scanner().efficiency(40, 3));
  const auto is_refused = [&](std::vector<std::byte> bytes) {
    try {
      const auto scanner = read(std::move(bytes));
      for (std::uint32_t d = 0; d < scanner->detectors->size(); ++d) (void)scanner->efficiency(d, 0);
      return false;
    } catch (const std::exception&) {
      return true;
    }
  };
  for (std::size_t size = 0; size < whole.size(); size += 37)
    CHECK(is_refused({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}));
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    auto wrong = whole;
    wrong[random() % wrong.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    (void)is_refused(wrong);
  }
  Scanner small = testing::toy_scanner();
  small.pair_tables[0].values.pop_back();
  wire::pack_with_efficiencies(to, small);
  whole.clear();
  for (const auto& piece : to.take()) whole.insert(whole.end(), piece.bytes.begin(), piece.bytes.end());
  CHECK_THROWS_WITH(read(whole), doctest::Contains("a table of efficiencies is smaller than its modules"));
}

TEST_CASE("a rank that gives no sum of a sensitivity hangs, and one that throws is named") {
  const auto ring = make_scanner(testing::two_layer_ring());
  const auto first = shared_joseph();
  for (const bool throws : {true, false}) {
    CAPTURE(throws);
    const PrivateTemporaryFolder folder;
    const std::string endpoint = "ipc://" + (folder.path() / "ranks").string();
    std::optional<RankSocket> rank;
    rank.emplace(RankSocket::Settings{
        .end = SocketEnd::connects, .endpoint = endpoint, .came = [&](const std::string&, const RankMessage& message) {
          if (message.kind == RankMessageKind::welcome) rank->watch("");
          if (message.kind == RankMessageKind::sensitivity)
            rank->send("", RankMessageKind::ready, message.session, packed_text("cpu"));
          if (message.kind == RankMessageKind::pairs && throws)
            rank->send("", RankMessageKind::failed, message.session, packed_text("out of memory"));
        }});
    rank->send("", RankMessageKind::hello, 0, packed(RankIdentity{{1, 2}, "elsewhere", 0, "program", "pipeline", ""}));
    RankGroup group({.own = {{0, 2}, "here", 0, "program", "pipeline", ""}, .endpoint = endpoint});
    TestContext context("projected");
    const auto began = std::chrono::steady_clock::now();
    {
      ProcessesAtSensitivity processes(group, shared_grid, Backend::cpu, context);
      CHECK_THROWS_WITH_AS(compute_sensitivity(*ring, {*first, processes, 2}, all_pairs),
                           doctest::Contains(throws ? "rank 1, on elsewhere: cpu: out of memory"
                                                    : "rank 1, on elsewhere: cpu: it hangs"),
                           RankFailed);
    }
    CHECK(std::chrono::steady_clock::now() - began < 12s);
    CHECK(group.failure(1)->gadget == "projected");
    group.end(1);
  }
}
// SPDX-License-Identifier: Apache-2.0
