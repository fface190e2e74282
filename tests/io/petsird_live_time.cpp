// Live fractions of PETSIRD's dead-time blocks: the mean over pairs against a sum over all of them, and over time.
#include "gadgets/io/petsird/live_time.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

std::vector<DeadTimeBlock> toy_blocks() {
  std::vector<DeadTimeBlock> blocks;
  for (const OtherBlock& block : toy::other_blocks())
    if (const auto* dead_time = std::get_if<DeadTimeBlock>(&block)) blocks.push_back(*dead_time);
  return blocks;
}

/// Over every pair of detection bins, as the standard defines it: single1 x single2 x pair, weighted with efficiencies.
double mean_over_bins(const DeadTimeBlock& block) {
  const auto scanner = to_scanner(toy::scanner());
  const std::size_t in_module[2] = {8, 2}, bins[2] = {24, 4}, first_module[2] = {0, 3};
  double sum = 0, weight = 0;
  for (std::size_t t1 = 0; t1 < 2; ++t1)
    for (std::size_t t2 = 0; t2 <= t1; ++t2)
      for (std::size_t b1 = 0; b1 < bins[t1]; ++b1)
        for (std::size_t b2 = 0; b2 < bins[t2]; ++b2) {
          const std::size_t m1 = b1 / in_module[t1], m2 = b2 / in_module[t2];
          if (t1 == t2 && m2 > m1) continue;
          if (scanner->module_pair[(first_module[t1] + m1) * 5 + first_module[t2] + m2] < 0) continue;
          const auto& e = toy::scanner().efficiencies.detection_bin_efficiencies;
          const auto& pairs = block.fractions.module_pairs;
          const double w = double{e[t1][b1]} * double{e[t2][b2]};
          const double pair = pairs.empty() ? 1.0 : double{pairs[t1][t2][m1][m2]};
          weight += w;
          sum += w * double{block.fractions.singles[t1][b1]} * double{block.fractions.singles[t2][b2]} * pair;
        }
  return sum / weight;
}

}  // namespace

TEST_CASE("a block's live fraction is the mean over all pairs of bins in coincidence") {
  const auto scanner = to_scanner(toy::scanner());
  for (DeadTimeBlock block : toy_blocks()) {
    block.fractions.singles[0][5] = 0.25F;
    LiveTime live(scanner);
    live.add(block);
    CHECK(live.mean(1, 1) == approx(mean_over_bins(block)).epsilon(1e-12));
    CHECK(live.spread() > 0.01);
  }
}

TEST_CASE("without tables everything is live, with equal singles the fraction is their square") {
  LiveTime live(to_scanner(toy::scanner()));
  CHECK(live.mean(0, 1) == 1);
  live.add({{0, 10}, {}});
  CHECK(live.mean(0, 1) == 1);
  live.add({{10, 20}, {{std::vector<float>(24, 0.5F), std::vector<float>(4, 0.5F)}, {}}});
  CHECK(live.mean(0.015, 0.001) == approx(0.25));
  CHECK(live.spread() == approx(0).epsilon(1e-7));
}

TEST_CASE("a live fraction holds until the next, the first one before it too") {
  LiveTime live(to_scanner(toy::scanner()));
  const auto add = [&](std::uint32_t start_ms, float single) {
    live.add({{start_ms, start_ms + 1}, {{std::vector<float>(24, single), std::vector<float>(4, single)}, {}}});
  };
  add(3000, 1.0F);  // blocks need not come in order
  add(1000, 0.5F);
  CHECK(live.mean(0, 2) == approx(0.25));
  CHECK(live.mean(2, 4) == approx(0.25 * 0.25 + 0.75 * 1));
  CHECK(live.mean(2, 0) == approx(0.25));
  CHECK(live.mean(3, 0) == approx(1));
  CHECK(live.mean(10, 5) == approx(1));
}

TEST_CASE("live fractions that do not fit the scanner are refused, by the block's time") {
  const auto check = [](const AliveTimeFractions& fractions, const char* words) {
    LiveTime live(to_scanner(toy::scanner()));
    CAPTURE(words);
    CHECK_THROWS_WITH_AS(live.add({{7, 8}, fractions}), doctest::Contains(words), Error);
    CHECK_THROWS_WITH_AS(live.add({{7, 8}, fractions}), doctest::Contains("at 7 ms"), Error);
  };
  const std::vector<float> ones24(24, 1.0F), ones4(4, 1.0F);
  check({{ones24}, {}}, "1 of 2 types");
  check({{ones4, ones4}, {}}, "4 live fractions for 24 detection bins");
  check({{ones24, {1, 1, 1, 1.5F}}, {}}, "a live fraction of 1.5");
  check({{ones24, {1, 1, 1, NAN}}, {}}, "a live fraction of nan");
  check({{}, {{{{1}, {1, 1}, {1, 1, 1}}}}}, "some pair of types");
  check({{}, {{{{1}, {1, 1}}}, {{}, {}}}}, "some pair of modules");
}
// SPDX-License-Identifier: Apache-2.0
