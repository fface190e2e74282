// A call with a deadline.
#include "kernels/collective/made_in_time.hpp"

#include <memory>

#include <doctest/doctest.h>

using namespace tofstream;
using namespace std::chrono_literals;

namespace {

struct MadeLate {
  std::shared_ptr<std::promise<void>> gone;
  explicit MadeLate(std::shared_ptr<std::promise<void>> promise) : gone(std::move(promise)) {}
  ~MadeLate() { gone->set_value(); }
  MadeLate(const MadeLate&) = delete;
  MadeLate& operator=(const MadeLate&) = delete;
};

}  // namespace

TEST_CASE("what is made in time is returned, and what is thrown is thrown") {
  CHECK(made_in_time<int>([] { return 7; }, 60s, "late") == 7);
  CHECK_THROWS_WITH_AS(made_in_time<int>([]() -> int { throw std::runtime_error("why"); }, 60s, "late"), "why",
                       std::runtime_error);
}

TEST_CASE("what is not made in time is told, and dropped once it is there") {
  auto gate = std::make_shared<std::promise<void>>();
  auto gone = std::make_shared<std::promise<void>>();
  std::future<void> is_gone = gone->get_future();
  const auto make = [opened = gate->get_future().share(), gone] {
    opened.wait();
    return std::make_unique<MadeLate>(gone);
  };
  CHECK_THROWS_WITH_AS(made_in_time<std::unique_ptr<MadeLate>>(make, 20ms, "rank 1 of 2 did not come"),
                       "rank 1 of 2 did not come", NotInTime);
  CHECK(is_gone.wait_for(0s) == std::future_status::timeout);
  gate->set_value();
  CHECK(is_gone.wait_for(60s) == std::future_status::ready);
}
// SPDX-License-Identifier: Apache-2.0
