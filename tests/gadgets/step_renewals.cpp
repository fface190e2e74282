// When scatter is made anew: at iterations of a file, and by the scan time of a live stream, whose iterations come and go.
#include <doctest/doctest.h>

#include "gadgets/step/renewals.hpp"

using namespace tofstream;

namespace {

UpdateStep live_step(int iteration) {
  return {.iteration = iteration, .subsets = 0};
}

UpdateStep file_step(int iteration, int subset) {
  return {.iteration = iteration, .subset = subset, .subsets = 4};
}

}  // namespace

TEST_CASE("terms are made at the beginning of each listed iteration, and at once where a run was resumed within one") {
  Renewals renewals({2, 4});
  int made = 0;
  for (int iteration = 1; iteration <= 5; ++iteration)
    for (int subset = 0; subset < 4; ++subset)
      if (renewals.are_due(file_step(iteration, subset), made > 0)) {
        ++made;
        CHECK(subset == 0);
        CHECK((iteration == 2 || iteration == 4));
      }
  CHECK(made == 2);
  renewals.begin_anew();
  CHECK(!renewals.are_due(file_step(1, 0), false));
  CHECK(renewals.are_due(file_step(3, 2), false));
  CHECK(!renewals.are_due(file_step(3, 3), true));
  CHECK(!renewals.are_due({.iteration = 0}, false));
}

TEST_CASE("a live stream's terms are made by scan time alone, and without one not before its final passes") {
  Renewals by_time({2, 3}, 10);
  int made = 0;
  for (int second = 1; second <= 35; ++second)
    for (const int iteration : {1, 2, 3, 2})  // subsets that are gone over while the projector is idle
      if (by_time.are_due(live_step(iteration), made > 0, second)) {
        ++made;
        CHECK(second % 10 == 0);
      }
  CHECK(made == 3);
  Renewals afterwards({2, 3});
  for (const int iteration : {1, 2, 3, 2}) CHECK(!afterwards.are_due(live_step(iteration), false, 35));
  CHECK(!afterwards.are_due(file_step(1, 0), false));
  CHECK(afterwards.are_due(file_step(2, 0), false));
}
// SPDX-License-Identifier: Apache-2.0
