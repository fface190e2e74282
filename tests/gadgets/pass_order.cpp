// The orders of a pass: each subset once, and the order that the rule says.
#include "gadgets/subset/pass_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

using namespace tofstream;

TEST_CASE("every order of a pass has each subset once") {
  for (const PassRule rule :
       {PassRule::sequential, PassRule::farthest, PassRule::golden, PassRule::herman_meyer, PassRule::random})
    for (const int count : {1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 97, 120, 240}) {
      CAPTURE(static_cast<int>(rule));
      CAPTURE(count);
      std::vector<int> order = pass_order({rule, 4}, count, 3);
      std::ranges::sort(order);
      std::vector<int> all(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 0);
      CHECK(order == all);
    }
  CHECK(pass_order({PassRule::random}, 0, 1).empty());
}

TEST_CASE("herman_meyer reads the digits the other way round; a prime number stays in sequence") {
  CHECK(pass_order({PassRule::herman_meyer}, 8, 1) == std::vector<int>{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(pass_order({PassRule::herman_meyer}, 8, 9) == pass_order({PassRule::herman_meyer}, 8, 1));
  CHECK(pass_order({PassRule::herman_meyer}, 12, 1) == std::vector<int>{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11});
  CHECK(pass_order({PassRule::herman_meyer}, 15, 1) ==
        std::vector<int>{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14});
  CHECK(pass_order({PassRule::herman_meyer}, 7, 1) == pass_order({}, 7, 1));
}

TEST_CASE("golden goes round in steps that are near to the golden section, and never to a neighbour") {
  CHECK(pass_order({PassRule::golden}, 8, 1) == std::vector<int>{0, 5, 2, 7, 4, 1, 6, 3});
  CHECK(pass_order({PassRule::golden}, 8, 9) == pass_order({PassRule::golden}, 8, 1));
  for (const int count : {4, 6})
    CHECK(pass_order({PassRule::golden}, count, 1) == pass_order({PassRule::herman_meyer}, count, 1));
  CHECK(pass_order({PassRule::golden}, 120, 1)[1] == 73);
  for (int count = 7; count <= 400; ++count) {
    CAPTURE(count);
    const std::vector<int> order = pass_order({PassRule::golden}, count, 1);
    int least = count;
    for (std::size_t i = 1; i < order.size(); ++i) {
      const int apart = std::abs(order[i] - order[i - 1]);
      least = std::min({least, apart, count - apart});
    }
    CHECK(least >= 0.3 * count);
  }
}

TEST_CASE("random orders differ from pass to pass and from seed to seed, and are the same again") {
  const PassOrder order{PassRule::random, 1};
  CHECK(pass_order(order, 24, 1) == pass_order(order, 24, 1));
  CHECK(pass_order(order, 24, 1) != pass_order(order, 24, 2));
  CHECK(pass_order(order, 24, 1) != pass_order({PassRule::random, 2}, 24, 1));
  CHECK(pass_order({PassRule::random, 1}, 24, 1) != pass_order({PassRule::random, (std::int64_t{1} << 32) + 1}, 24, 1));
  // No place is favoured: over many passes each subset comes first about as often.
  std::vector<int> first(4);
  for (int pass = 1; pass <= 4000; ++pass) ++first[static_cast<std::size_t>(pass_order(order, 4, pass).front())];
  for (const int times : first) CHECK(std::abs(times - 1000) < 5 * 28);  // five standard deviations
}
// SPDX-License-Identifier: Apache-2.0
