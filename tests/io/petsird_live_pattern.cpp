// Patterns of live fractions against the standard's definition, and the time that dead-time blocks cover.
#include <cmath>

#include "gadgets/io/petsird/live_time.hpp"
#include "gadgets/io/petsird/to_scanner.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::petsird;

namespace {

DeadTimeBlock singles_block(std::uint32_t start_ms, std::uint32_t stop_ms, float first_module) {
  std::vector<float> singles(24, 1.0F);
  for (std::size_t bin = 0; bin < 8; ++bin) singles[bin] = first_module;
  return {{start_ms, stop_ms}, {{singles, std::vector<float>(4, 1.0F)}, {}}};
}

}  // namespace

TEST_CASE("exposure times pattern is single x single x pair of each pair of modules") {
  const auto scanner = to_scanner(toy::scanner());
  LiveTime live(scanner);
  DeadTimeBlock block = singles_block(0, 100, 0.5F);
  block.fractions.module_pairs = {{{{1}, {0.8F, 1}, {1, 1, 1}}}, {{{1, 1, 0.7F}, {1, 1, 1}}, {{1}, {1, 1}}}};
  live.add(block);
  const auto pattern = live.pattern(0, 0.1);
  REQUIRE(pattern != nullptr);
  CHECK(pattern->modules == 5);
  const double mean = live.mean(0, 0.1);
  CHECK(mean * static_cast<double>(pattern->of(1, 0)) == approx(0.5 * 0.8));
  CHECK(mean * static_cast<double>(pattern->of(0, 1)) == approx(0.5 * 0.8));
  CHECK(mean * static_cast<double>(pattern->of(2, 0)) == approx(0.5));
  CHECK(mean * static_cast<double>(pattern->of(2, 1)) == approx(1));
  CHECK(mean * static_cast<double>(pattern->of(3, 2)) == approx(0.7));
  CHECK(live.spread_in_modules() == approx(0));
  block.fractions.singles[0][0] = 0.9F;
  live.add(block);
  CHECK(live.spread_in_modules() > 0.1);
}

TEST_CASE("patterns that are forgotten are not asked for, and means stay") {
  LiveTime live(to_scanner(toy::scanner()));
  for (std::uint32_t s = 0; s < 10; ++s)
    live.add(singles_block(1000 * s, 1000 * (s + 1), 0.9F - 0.05F * static_cast<float>(s)));
  const double mean = live.mean(2, 1);
  live.forget_patterns_before(5.5);
  CHECK(live.mean(2, 1) == mean);
  CHECK(live.pattern(5.5, 1) != nullptr);
  CHECK(live.pattern(9, 5) != nullptr);
  CHECK_THROWS_AS(live.pattern(2, 1), std::logic_error);
}

TEST_CASE("what dead-time blocks cover is told apart from what they do not, in any order") {
  LiveTime live(to_scanner(toy::scanner()));
  for (const auto& [start, stop] : {std::pair(4000u, 6000u), {0u, 1000u}, {1000u, 2000u}, {1500u, 3000u}})
    live.add(singles_block(start, stop, 1));
  CHECK_FALSE(live.uncovered(0, 3).has_value());
  CHECK_FALSE(live.uncovered(4.5, 6.001).has_value());  // rounding
  const auto gap = live.uncovered(2, 5);
  REQUIRE(gap.has_value());
  CHECK(gap->first == approx(3));
  CHECK(gap->second == approx(4));
  CHECK(live.uncovered(5, 7)->first == approx(6));
  CHECK(live.uncovered(7, 8)->second == approx(8));
}
// SPDX-License-Identifier: Apache-2.0
