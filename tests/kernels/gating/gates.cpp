// Gates by phase and amplitude against closed forms, and the movement that events show.
#include "kernels/gating/gates.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include "kernels/gating/centre_of_mass.hpp"
#include "kernels/gating/changing_operators.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::vector<double> gate_times(const std::vector<GateStretch>& stretches, int gates) {
  std::vector<double> times(static_cast<std::size_t>(gates), 0.0);
  for (const GateStretch& stretch : stretches)
    times[static_cast<std::size_t>(stretch.gate - 1)] += stretch.end_s - stretch.start_s;
  return times;
}

// 20 cycles of 4 s, sampled 10 times a second.
MotionSignal breathing() {
  MotionSignal signal;
  for (int i = 0; i <= 800; ++i) {
    signal.time_s.push_back(0.1 * i);
    signal.value.push_back(-std::cos(2 * std::numbers::pi * 0.1 * i / 4));
  }
  return signal;
}

// `events` a second for a minute, about a centre that moves along (1, 0, 2) with a period of 5 s.
CentreOfMass moving_events(double amplitude_mm, double drift_mm, double start_s = 0) {
  CentreOfMass centre(0.2);
  std::mt19937 random(5);
  std::normal_distribution<float> spread(0, 40);
  for (int batch = 0; batch < 600; ++batch) {
    EventBatch events;
    events.count = 200;
    events.start_s = start_s + 0.1 * batch;
    events.duration_s = 0.1;
    for (auto& end : events.ends) end = Buffer<float>(Memory::host, events.count);
    events.tof_mm = Buffer<float>(Memory::host, events.count);
    for (std::int64_t i = 0; i < events.count; ++i) {
      const double time_s = 0.1 * batch + 0.1 * (static_cast<double>(i) + 0.5) / 200;
      const double at = amplitude_mm * std::sin(2 * std::numbers::pi * time_s / 5);
      const float x = static_cast<float>(at) + spread(random), y = spread(random),
                  z = static_cast<float>(2 * at + drift_mm * time_s / 60) + spread(random);
      // Lines along y, whose ToF says y.
      const float ends[] = {x, -200, z, x, 200, z};
      for (std::size_t e = 0; e < 6; ++e) events.ends[e][i] = ends[e];
      events.tof_mm[i] = y;
    }
    centre.add(events);
  }
  return centre;
}

}  // namespace

TEST_CASE("phases are equal parts of each cycle, and a cycle that lacks a trigger is in no gate") {
  const auto stretches = gates_by_phase({{1, 3, 4, 9}, {}}, 4, 4);
  REQUIRE(stretches.size() == 8);
  CHECK(stretches[1] == GateStretch{1.5, 2, 2});
  CHECK(stretches[7] == GateStretch{3.75, 4, 4});
  CHECK(gate_at(stretches, 0.9) == 0);
  CHECK(gate_at(stretches, 1) == 1);
  CHECK(gate_at(stretches, 2.99) == 4);
  CHECK(gate_at(stretches, 3.3) == 2);
  CHECK(gate_at(stretches, 4) == 0);
  CHECK(gate_at(stretches, 20) == 0);
  CHECK(gate_changes(stretches, 1.2, 2.4) == std::vector<double>{1.5, 2});
  CHECK(gate_changes(stretches, 3.6, 20) == std::vector<double>{3.75, 4});
  CHECK(gate_changes(stretches, 5, 20).empty());
  CHECK(gates_by_phase({{1, 3, 4, 9}, {}}, 4).size() == 12);
  CHECK_THROWS_WITH(gates_by_phase({{1}, {}}, 4), doctest::Contains("fewer than two triggers"));
  CHECK_THROWS_WITH(gates_by_phase({{1, 3}, {}}, 4, 1), doctest::Contains("every cycle is longer than 1 s"));
}

TEST_CASE("by amplitude, gates have equal times or are equal steps, and cut the signal where it crosses a bound") {
  const MotionSignal signal = breathing();
  const auto equal = gates_by_amplitude(signal, 5, GateBounds::equal_time);
  for (const double time : gate_times(equal, 5)) CHECK(time == approx(16).epsilon(1e-6));
  CHECK(gate_at(equal, 0.01) == 1);
  CHECK(gate_at(equal, 2) == 5);
  CHECK(gate_at(equal, 81) == 0);
  for (std::size_t i = 1; i < equal.size(); ++i) {
    CHECK(equal[i].start_s == equal[i - 1].end_s);
    CHECK(std::abs(equal[i].gate - equal[i - 1].gate) == 1);
  }
  // A triangle spends equal times at all values: 2 % of it are beyond each end of the steps.
  MotionSignal triangle;
  for (int i = 0; i <= 40; ++i) {
    triangle.time_s.push_back(i);
    triangle.value.push_back(i % 2);
  }
  const auto times = gate_times(gates_by_amplitude(triangle, 4, GateBounds::equal_amplitude), 4);
  CHECK(times[0] == approx(40 * (0.24 + 0.02)).epsilon(1e-6));
  CHECK(times[1] == approx(40 * 0.24).epsilon(1e-6));
  CHECK(times[3] == approx(40 * 0.26).epsilon(1e-6));
  CHECK_THROWS_WITH(gates_by_amplitude({{0, 1}, {2, 2}}, 2, GateBounds::equal_time),
                    doctest::Contains("is 2 all the time"));
  CHECK_THROWS_WITH(gates_by_amplitude({{0}, {2}}, 2, GateBounds::equal_time), doctest::Contains("fewer than two"));
}

TEST_CASE("a cycle begins where the signal rises through its median, once, whatever its noise") {
  MotionSignal signal = breathing();
  for (std::size_t i = 0; i < signal.value.size(); ++i) signal.value[i] += i % 2 > 0 ? 0.1 : -0.1;
  const auto begins = cycles_of(signal);
  REQUIRE(begins.size() == 20);
  for (std::size_t i = 0; i < begins.size(); ++i)
    CHECK(begins[i] == approx(4.0 * static_cast<double>(i) + 1).epsilon(0.15));
}

TEST_CASE("where a signal pauses there is no gate, and the other times are shared as if it were not there") {
  const MotionSignal whole = breathing();
  MotionSignal signal{.longest_step_s = 1};
  for (std::size_t i = 0; i < whole.time_s.size(); ++i) {
    if (whole.time_s[i] > 19.95 && whole.time_s[i] < 41.05) continue;  // it stops low and goes on high
    signal.time_s.push_back(whole.time_s[i]);
    signal.value.push_back(whole.value[i]);
  }
  CHECK(usual_step_s(signal) == approx(0.1));
  CHECK(usual_step_s({{3}, {}}) == 0);
  const auto by_time = gates_by_amplitude(signal, 4, GateBounds::equal_time);
  const double known_s = 80 - (41.1 - 19.9);
  for (const double time : gate_times(by_time, 4)) CHECK(time == approx(known_s / 4).epsilon(1e-6));
  const auto by_phase = gates_by_phase(signal, 4);
  for (const double paused_s : {20.0, 30.0, 41.0}) {
    CHECK(gate_at(by_time, paused_s) == 0);
    CHECK(gate_at(by_phase, paused_s) == 0);
  }
  // The last cycle before the pause has no end, and the first after it no beginning.
  CHECK(gate_at(by_phase, 16.9) == 4);
  CHECK(gate_at(by_phase, 17.1) == 0);
  CHECK(gate_at(by_phase, 44.9) == 0);
  CHECK(gate_at(by_phase, 45.1) == 1);
  // Triggers too: nobody knows how many are missing in a pause.
  const auto by_triggers = gates_by_phase({{0, 4, 8, 60, 64}, {}, 40}, 4);
  CHECK(gate_at(by_triggers, 7.9) == 4);
  CHECK(gate_at(by_triggers, 30) == 0);
  CHECK(gate_at(by_triggers, 60.1) == 1);
  CHECK_THROWS_WITH(gates_by_phase({{0, 50}, {}, 40}, 4), doctest::Contains("pauses in every cycle"));
  signal.longest_step_s = 0.01;
  CHECK_THROWS_WITH(gates_by_phase(signal, 4), doctest::Contains("no two times of the signal are within 0.01 s"));
}

TEST_CASE("the events' centre of mass follows a movement, and neither noise nor drift") {
  const CentreMovement movement = moving_events(6, 30).movement(20);
  double product = 0, squares = 0, truths = 0;
  for (std::size_t i = 0; i < movement.signal.time_s.size(); ++i) {
    const double truth = std::sin(2 * std::numbers::pi * movement.signal.time_s[i] / 5);
    product += truth * movement.signal.value[i];
    squares += movement.signal.value[i] * movement.signal.value[i];
    truths += truth * truth;
  }
  CHECK(product / std::sqrt(squares * truths) > 0.9);
  CHECK(movement.to_noise > 3);
  CHECK(movement.direction[2] == approx(2 / std::sqrt(5)).epsilon(0.05));
  CHECK(std::abs(movement.direction[1]) < 0.1);
  CHECK(moving_events(0, 0).movement(20).to_noise < 1.3);
  constexpr double a_clocks_s = 1.7e9;  // a stream may count from long before the scan
  CHECK(moving_events(6, 30, a_clocks_s).movement(20).to_noise == approx(movement.to_noise).epsilon(0.02));
  CHECK_THROWS_WITH(CentreOfMass(0.2).movement(20), doctest::Contains("too few"));
}

TEST_CASE("the mean of operators is weighted by their times, and so is its adjoint") {
  class Scale final : public ImageOperator {
   public:
    Scale(const Grid& grid, float by) : ImageOperator(grid, Backend::cpu), by_(by) {}

   private:
    Image forward_of(const Image& x) const override { return Image::filled(grid(), by_ * x.voxels[0]); }
    Image adjoint_of(const Image& y) const override { return Image::filled(grid(), 10 * by_ * y.voxels[0]); }
    float by_;
  };
  const Grid grid = Grid::centred(2, 1, 1, {1, 1, 1});
  const MeanOperator mean({std::make_shared<const Scale>(grid, 2.0f), std::make_shared<const Scale>(grid, 6.0f)},
                          {3, 1});
  const Image x = Image::filled(grid, 2);
  CHECK(mean.forward(x).voxels[1] == approx(6));
  CHECK(mean.adjoint(x).voxels[1] == approx(60));
  CHECK(IdentityOperator(grid, Backend::cpu).adjoint(x).voxels[1] == 2);
  CHECK_THROWS_WITH(MeanOperator({std::make_shared<const Scale>(grid, 2.0f)}, {0}), doctest::Contains("a weight"));
}
// SPDX-License-Identifier: Apache-2.0
