// Shares of subsets by the speed of ranks: how they follow from times, and that sums stay those of equal shares.
#include "gadgets/step/dealing.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/division.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"
#include "kernels/ring/simulate/ring_scanner.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

Dealing measured(int ranks) {
  return Dealing({.ranks = ranks, .parts = ranks, .is_measured = true});
}

void note_ten(Dealing& dealing, const std::vector<RankTime>& times) {
  for (int subset = 0; subset < Dealing::window; ++subset) dealing.note(times);
}

}  // namespace

TEST_CASE("parts are equal unless they are measured, and cover all data") {
  for (const int parts : {1, 2, 3, 8})
    for (const std::int64_t count : {0, 1, 7, 1000}) {
      Dealing equal({.ranks = parts, .parts = parts});
      note_ten(equal, std::vector<RankTime>(static_cast<std::size_t>(parts), {100, 1}));
      CHECK(equal.first(0, count) == 0);
      CHECK(equal.first(parts, count) == count);
      for (int part = 0; part < parts; ++part) CHECK(equal.first(part, count) == count * part / parts);
    }
  Dealing never({.ranks = 2, .parts = 2});
  note_ten(never, {{100, 1}, {100, 10}});
  CHECK(never.shares().empty());
}

TEST_CASE("measured parts are as large as their ranks are fast, after ten subsets that were worth it") {
  Dealing dealing = measured(3);
  for (int subset = 1; subset < Dealing::window; ++subset)
    dealing.note(std::vector<RankTime>{{100, 1}, {100, 1}, {100, 2}});
  CHECK(dealing.shares().empty());
  dealing.note(std::vector<RankTime>{{100, 1}, {100, 1}, {100, 2}});
  REQUIRE(dealing.shares().size() == 3);
  CHECK(dealing.shares()[0] == approx(0.4));
  CHECK(dealing.shares()[2] == approx(0.2));
  CHECK(dealing.first(0, 1000) == 0);
  CHECK(dealing.first(1, 1000) == 400);
  CHECK(dealing.first(2, 1000) == 800);
  CHECK(dealing.first(3, 1000) == 1000);
  for (const std::int64_t count : {0, 1, 2, 3, 999}) {
    for (int part = 0; part < 3; ++part) CHECK(dealing.first(part, count) <= dealing.first(part + 1, count));
    CHECK(dealing.first(3, count) == count);
  }
  // What they take now is alike: the shares stay.
  note_ten(dealing, {{400, 4}, {400, 4}, {200, 4.1}});
  CHECK(dealing.changes() == 1);
  // A rank that does nothing but wait keeps a little, by which it is seen to be fast again.
  note_ten(dealing, {{400, 1}, {400, 1}, {1, 1000}});
  CHECK(dealing.shares()[2] == approx(0.05 / 3).epsilon(0.02));
  note_ten(dealing, {{400, 1}, {400, 1}, {20, 0.05}});
  CHECK(dealing.shares()[2] == approx(1.0 / 3));
  CHECK(dealing.changes() == 3);
}

TEST_CASE("shares stay where times are alike, short, or missing") {
  for (const std::vector<RankTime>& times :
       {std::vector<RankTime>{{100, 1}, {100, 1.1}}, std::vector<RankTime>{{100, 0.001}, {100, 0.003}},
        std::vector<RankTime>{{100, 1}, {0, 0}}, std::vector<RankTime>{{100, 1}, {100, 0}}}) {
    Dealing dealing = measured(2);
    note_ten(dealing, times);
    CHECK(dealing.shares().empty());
    CHECK(dealing.changes() == 0);
  }
}

TEST_CASE("measured parts are refused where parts are to stay as they are") {
  const auto refused = [](const std::string& parameters) {
    try {
      RegisteredGadgetTest<Projected> projector("joseph_projector",
                                                "{backend: cpu, deal: measured, " + parameters + "}");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("ranks: 2, deterministic: true").find("deal: measured") != std::string::npos);
  CHECK(refused("ranks: 2, rank_parts: 4").find("deal: measured") != std::string::npos);
  CHECK(refused("ranks: 2").empty());
  CHECK(refused("ranks: 1").empty());
}
// SPDX-License-Identifier: Apache-2.0
