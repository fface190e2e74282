// Single scatter's samples on the CPU, and the choice of backend: see scatter_plan.hpp.
#include <algorithm>
#include <cstddef>

#include <tbb/parallel_for.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/ring/scatter/scatter_plan.hpp"

namespace tofstream::ring_scatter {

namespace {

/// What lies between some points and all ends: [point][end].
struct LegTable {
  std::vector<Leg> legs;
  std::vector<float> activity;  // [point][end][step]
};

LegTable follow_legs(const ScatterPlan& plan, std::size_t first, std::size_t count) {
  const std::size_t ends = plan.ends.size(), steps = static_cast<std::size_t>(plan.law.steps);
  LegTable made;
  made.legs.resize(count * ends);
  made.activity.resize(made.legs.size() * steps);
  tbb::parallel_for(std::size_t{0}, made.legs.size(), [&](std::size_t n) {
    made.legs[n] =
        plan.law.follow(plan.points[first + n / ends].at, plan.ends[n % ends], made.activity.data() + n * steps, 1);
  });
  return made;
}

/// Adds a leg's activity to a spectrum of ToF, times a factor.
template <int sign>
void add_leg(const float* activity, const Leg& leg, float factor, double place, float* spectrum, int steps) {
  const auto in = StepsInSpectrum::of<sign>(leg, factor, place, steps);
  for (int k = in.begin; k < in.end; ++k) spectrum[in.at + sign * k] += in.low * activity[k];
  for (int k = in.begin; k < in.end; ++k) spectrum[in.at + sign * k + 1] += in.high * activity[k];
}

/// Adds what a point gives to a line.
void add_point(const ScatterPlan& plan, const LegTable& table, std::size_t point, double weight,
               const ScatterLine& line, float* spectrum) {
  const std::size_t ends = plan.ends.size(), steps = static_cast<std::size_t>(plan.law.steps);
  const std::size_t at_a = point * ends + line.a, at_b = point * ends + line.b;
  const Leg &a = table.legs[at_a], &b = table.legs[at_b];
  const PairFactors factors = PairFactors::of(plan.table(), weight, a, b);
  const float* const along_a = table.activity.data() + at_a * steps;
  const float* const along_b = table.activity.data() + at_b * steps;
  if (!plan.spectrum.has_tof()) {
    if (a.end > 0) spectrum[0] += factors.of_a * along_a[0];
    if (b.end > 0) spectrum[0] += factors.of_b * along_b[0];
    return;
  }
  if (factors.of_a == 0 && factors.of_b == 0) return;
  const double middle = plan.spectrum.middle(a, b);
  add_leg<-1>(along_a, a, factors.of_a, middle - 0.5, spectrum, plan.spectrum.steps);
  add_leg<1>(along_b, b, factors.of_b, middle + 0.5, spectrum, plan.spectrum.steps);
}

}  // namespace

std::vector<float> scatter_on_cpu(const ScatterPlan& plan, const ScatterProgress& progress) {
  const auto steps = static_cast<std::size_t>(plan.spectrum.steps), lines = plan.lines.size();
  std::vector<float> spectra(lines * steps, 0.0f);
  constexpr std::size_t most_floats = std::size_t{32} << 20, floats_a_leg = 8;
  const std::size_t at_once = std::clamp<std::size_t>(
      most_floats / (plan.ends.size() * (static_cast<std::size_t>(plan.law.steps) + floats_a_leg)), 1,
      plan.points.size());
  for (std::size_t first = 0; first < plan.points.size(); first += at_once) {
    const std::size_t count = std::min(at_once, plan.points.size() - first);
    if (progress) progress(static_cast<std::int64_t>(first));
    const LegTable table = follow_legs(plan, first, count);
    tbb::parallel_for(std::size_t{0}, lines, [&](std::size_t n) {
      for (std::size_t p = 0; p < count; ++p)
        add_point(plan, table, p, plan.points[first + p].weight, plan.lines[n], spectra.data() + n * steps);
    });
  }
  std::vector<float> values(lines * static_cast<std::size_t>(plan.tof_samples));
  tbb::parallel_for(std::size_t{0}, lines, [&](std::size_t n) {
    for (int t = 0; t < plan.tof_samples; ++t)
      values[static_cast<std::size_t>(t) * lines + n] =
          plan.spectrum.sample(spectra.data() + n * steps, 1,
                               plan.tof_response.data() + static_cast<std::size_t>(t) * steps) *
          plan.inverse_own[n];
  });
  return values;
}

#ifndef TOFSTREAM_HAVE_CUDA
std::vector<float> scatter_on_cuda(const ScatterPlan&, const ScatterProgress&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
