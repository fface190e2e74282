// When scatter is made anew: at iterations of a file, and by the scan time of a live stream, whose iterations come and go.
#include <chrono>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>
#include <tbb/parallel_for.h>

#include "gadgets/step/beside.hpp"
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

TEST_CASE("what is made beside a live stream's updates is in place by scan time alone, before the next one begins") {
  Renewals beside({2, 3}, 10, 4);
  std::string told;
  for (int second = 1; second <= 25; ++second)
    for (const int at : {second, second - 3}) {  // subsets that are gone over while the projector is idle
      if (beside.are_in_place(live_step(2), at)) told += fmt::format("{} in place, ", at);
      if (beside.are_due(live_step(2), false, at)) told += fmt::format("{} begun, ", at);
    }
  CHECK(told == "10 begun, 14 in place, 20 begun, 24 in place, ");
  CHECK(beside.are_made_beside(live_step(1)));
  CHECK(!beside.are_made_beside(file_step(1, 0)));  // final passes wait
  CHECK(beside.first_time() == "iteration 2 and before 14 s of the scan");

  // Where data have a gap, one takes its place where the next begins. A return to the start image forgets it.
  Renewals gap({2}, 10, 10);
  CHECK(gap.are_due(live_step(2), false, 12));
  CHECK(gap.are_in_place(live_step(2), 50));
  CHECK(gap.are_due(live_step(2), true, 50));
  CHECK(!gap.are_in_place(file_step(1, 0), 100));
  gap.begin_anew();
  CHECK(!gap.are_in_place(live_step(2), 100));

  Renewals at_once({2}, 10);
  CHECK(at_once.are_due(live_step(2), false, 10));
  CHECK(!at_once.are_made_beside(live_step(2)));
  CHECK(!at_once.are_in_place(live_step(2), 100));
  // A run goes on with what another one had begun.
  Renewals begun({2}, 10, 5), on({2}, 10, 5);
  const UpdateStep live{.iteration = 1, .subsets = 0};
  CHECK(begun.are_due(live, false, 12));
  on.go_on(begun.times());
  CHECK_FALSE(on.are_in_place(live, 16));
  CHECK_FALSE(on.are_due(live, false, 16));
  CHECK(on.are_in_place(live, 17));
  CHECK_FALSE(on.are_in_place(live, 18));
  CHECK(on.are_due(live, true, 22));

  CHECK_THROWS_WITH_AS(Renewals({2}, 10, 11),
                       doctest::Contains("within_s is 11 s, and must not be more than every_s, 10 s"),
                       std::invalid_argument);
}

TEST_CASE("work beside is taken when it is done, with what it threw, and ends early where nobody wants it") {
  Beside<double> beside;
  CHECK(!beside.is_at_work());
  std::vector<double> values(100000, 1.0);
  beside.begin([&](const std::stop_token&) {
    tbb::parallel_for(std::size_t{0}, values.size(), [&](std::size_t n) { values[n] += static_cast<double>(n % 2); });
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
  });
  CHECK(beside.is_at_work());
  CHECK(beside.take() == 150000);
  CHECK(!beside.is_at_work());
  beside.begin([](const std::stop_token&) -> double { throw std::runtime_error("no"); });
  CHECK_THROWS_WITH(beside.take(), "no");
  bool was_stopped = false;
  beside.begin([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    was_stopped = true;
    return 0.0;
  });
  beside.drop();
  CHECK(was_stopped);
  CHECK(!beside.is_at_work());
}
// SPDX-License-Identifier: Apache-2.0
