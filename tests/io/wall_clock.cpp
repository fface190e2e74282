// Times of a stream, which set the pace of its replay.
#include "gadgets/io/wall_clock.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

using namespace tofstream;

TEST_CASE("times of a stream begin with the time of day and go on by the steady clock alone") {
  using namespace std::chrono_literals;
  const auto begin = StreamClock::Steady::now();
  // This machine's clock is set back by years between the two times: their difference is still right.
  const StreamClock clock(2'000'000'000'000'000'000, begin);
  CHECK(clock.ns(begin) == 2'000'000'000'000'000'000);
  CHECK(clock.ns(begin + 3s) == 2'000'000'003'000'000'000);
  const StreamClock now;
  const auto apart = static_cast<std::int64_t>(wall_clock_ns() - now.ns(StreamClock::Steady::now()));
  CHECK(std::abs(apart) < 60'000'000'000);
}
// SPDX-License-Identifier: Apache-2.0
