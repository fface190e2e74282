// Gates by phase and by amplitude: see gates.hpp.
#include "kernels/gating/gates.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <fmt/format.h>

namespace tofstream {
namespace {

// Stretches that meet and are of one gate become one.
void add_stretch(std::vector<GateStretch>& to, GateStretch next) {
  if (!(next.end_s > next.start_s)) return;
  if (!to.empty() && to.back().gate == next.gate && to.back().end_s == next.start_s)
    to.back().end_s = next.end_s;
  else
    to.push_back(next);
}

void require_changing(const MotionSignal& signal) {
  if (signal.time_s.size() < 2) throw std::invalid_argument("the signal has fewer than two times");
  const auto [low, high] = std::ranges::minmax(signal.value);
  if (!(high > low)) throw std::invalid_argument(fmt::format("the signal is {:g} all the time", low));
  for (std::size_t i = 1; i < signal.time_s.size(); ++i)
    if (!signal.pauses_before(i)) return;
  throw std::invalid_argument(fmt::format("no two times of the signal are within {:g} s", signal.longest_step_s));
}

// The time for which the signal is below a value.
double time_below(const MotionSignal& signal, double value) {
  double sum = 0;
  for (std::size_t i = 1; i < signal.time_s.size(); ++i) {
    if (signal.pauses_before(i)) continue;
    const auto [low, high] = std::minmax(signal.value[i - 1], signal.value[i]);
    const double time = signal.time_s[i] - signal.time_s[i - 1];
    if (value >= high)
      sum += time;
    else if (value > low)
      sum += time * (value - low) / (high - low);
  }
  return sum;
}

// The value below which the signal is for this fraction of the time for which it is known.
double quantile_in_time(const MotionSignal& signal, double fraction) {
  auto [low, high] = std::ranges::minmax(signal.value);
  const double time = fraction * time_below(signal, high);
  constexpr int halvings = 50;
  for (int n = 0; n < halvings; ++n) {
    const double middle = 0.5 * (low + high);
    (time_below(signal, middle) < time ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// Between the gates, ascending.
std::vector<double> bounds_of(const MotionSignal& signal, int gates, GateBounds bounds) {
  constexpr double tail = 0.02;
  const bool by_time = bounds == GateBounds::equal_time;
  const double low = by_time ? 0 : quantile_in_time(signal, tail),
               high = by_time ? 0 : quantile_in_time(signal, 1 - tail);
  std::vector<double> between;
  for (int gate = 1; gate < gates; ++gate) {
    const double share = static_cast<double>(gate) / gates;
    between.push_back(by_time ? quantile_in_time(signal, share) : low + share * (high - low));
  }
  return between;
}

int gate_of(const std::vector<double>& bounds, double value) {
  return static_cast<int>(std::ranges::upper_bound(bounds, value) - bounds.begin()) + 1;
}

// From one time of the signal to the next, cut where it crosses a bound.
void add_segment(std::vector<GateStretch>& to, const MotionSignal& signal, std::size_t i,
                 const std::vector<double>& bounds) {
  const double t0 = signal.time_s[i - 1], t1 = signal.time_s[i], v0 = signal.value[i - 1], v1 = signal.value[i];
  std::vector<double> cuts_s;
  for (const double bound : bounds)
    if ((bound > v0) != (bound > v1)) cuts_s.push_back(std::clamp(t0 + (t1 - t0) * (bound - v0) / (v1 - v0), t0, t1));
  std::ranges::sort(cuts_s);
  cuts_s.push_back(t1);
  double from_s = t0;
  for (const double cut_s : cuts_s) {
    const double middle = v0 + (v1 - v0) * (0.5 * (from_s + cut_s) - t0) / (t1 - t0);
    add_stretch(to, {from_s, cut_s, gate_of(bounds, middle)});
    from_s = cut_s;
  }
}

// Whether a pause of the signal lies between two times.
bool pauses_between(const MotionSignal& signal, double start_s, double end_s) {
  const auto after = std::ranges::upper_bound(signal.time_s, start_s);
  for (auto i = static_cast<std::size_t>(after - signal.time_s.begin()); i < signal.time_s.size(); ++i) {
    if (i > 0 && signal.pauses_before(i)) return true;
    if (signal.time_s[i] >= end_s) return false;
  }
  return false;
}

}  // namespace

double usual_step_s(const MotionSignal& signal) {
  std::vector<double> steps_s;
  for (std::size_t i = 1; i < signal.time_s.size(); ++i) steps_s.push_back(signal.time_s[i] - signal.time_s[i - 1]);
  if (steps_s.empty()) return 0;
  const auto middle = steps_s.begin() + std::ssize(steps_s) / 2;
  std::ranges::nth_element(steps_s, middle);
  return *middle;
}

std::vector<GateStretch> gates_by_phase(const MotionSignal& signal, int gates, double longest_cycle_s) {
  const std::vector<double> triggers_s = signal.value.empty() ? signal.time_s : cycles_of(signal);
  if (triggers_s.size() < 2)
    throw std::invalid_argument("there are fewer than two triggers, so there is no whole cycle");
  std::vector<GateStretch> stretches;
  for (std::size_t i = 1; i < triggers_s.size(); ++i) {
    const double start_s = triggers_s[i - 1], cycle_s = triggers_s[i] - start_s;
    if (longest_cycle_s > 0 && cycle_s > longest_cycle_s) continue;
    if (pauses_between(signal, start_s, triggers_s[i])) continue;
    for (int gate = 0; gate < gates; ++gate)
      add_stretch(stretches, {start_s + cycle_s * gate / gates,
                              gate + 1 == gates ? triggers_s[i] : start_s + cycle_s * (gate + 1) / gates, gate + 1});
  }
  if (stretches.empty())
    throw std::invalid_argument(longest_cycle_s > 0
                                    ? fmt::format("every cycle is longer than {:g} s, or has a pause", longest_cycle_s)
                                    : "the signal pauses in every cycle");
  return stretches;
}

std::vector<GateStretch> gates_by_amplitude(const MotionSignal& signal, int gates, GateBounds bounds) {
  require_changing(signal);
  const std::vector<double> between = bounds_of(signal, gates, bounds);
  std::vector<GateStretch> stretches;
  for (std::size_t i = 1; i < signal.time_s.size(); ++i)
    if (!signal.pauses_before(i)) add_segment(stretches, signal, i, between);
  return stretches;
}

std::vector<double> cycles_of(const MotionSignal& signal) {
  require_changing(signal);
  const double low = quantile_in_time(signal, 0.25), middle = quantile_in_time(signal, 0.5);
  std::vector<double> begins_s;
  bool was_low = signal.value.front() < low;
  for (std::size_t i = 1; i < signal.time_s.size(); ++i) {
    const double before = signal.value[i - 1], after = signal.value[i];
    if (signal.pauses_before(i)) {
      was_low = false;
      continue;
    }
    was_low = was_low || before < low;
    if (!was_low || !(before < middle && after >= middle)) continue;
    begins_s.push_back(signal.time_s[i - 1] +
                       (signal.time_s[i] - signal.time_s[i - 1]) * (middle - before) / (after - before));
    was_low = false;
  }
  return begins_s;
}

int gate_at(const std::vector<GateStretch>& stretches, double time_s) {
  const auto next = std::ranges::upper_bound(stretches, time_s, {}, &GateStretch::start_s);
  if (next == stretches.begin()) return 0;
  const GateStretch& last = *std::prev(next);
  return time_s < last.end_s ? last.gate : 0;
}

std::vector<double> gate_changes(const std::vector<GateStretch>& stretches, double start_s, double end_s) {
  std::vector<double> changes_s;
  const auto add = [&](double time_s) {
    if (time_s > start_s && time_s < end_s && (changes_s.empty() || time_s > changes_s.back()))
      changes_s.push_back(time_s);
  };
  auto stretch = std::ranges::upper_bound(stretches, start_s, {}, &GateStretch::start_s);
  if (stretch != stretches.begin()) --stretch;
  for (; stretch != stretches.end() && stretch->start_s < end_s; ++stretch) {
    add(stretch->start_s);
    add(stretch->end_s);
  }
  return changes_s;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
