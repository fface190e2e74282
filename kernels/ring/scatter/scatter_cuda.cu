// Single scatter's samples on a GPU: see scatter_plan.hpp. Legs of some points are followed by a thread each; then a
// warp has a line, whose spectrum it keeps in shared memory: its lanes look up the factors of 32 points, and take the
// bins of one point's two legs in turn. All sums are in a fixed order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/ring/scatter/scatter_plan.hpp"

namespace tofstream::ring_scatter {

namespace {

constexpr int scatter_lanes = 32, leg_threads = 128, most_warps = 8, sample_threads = 128;
constexpr unsigned whole_warp = ~0u;

/// A plan in memory of the device, and what lies between some of its points and all ends.
struct DevicePlan {
  const ScatterPoint* points;
  const Vec3d* ends;
  const ScatterLine* lines;
  const float* inverse_own;
  const float* tof_response;
  LegLaw law;
  AngleTable table;
  SpectrumLaw spectrum;
  int end_count, line_count, tof_samples;
  int apart;        // lines of neighbouring warps, which so have an end in common
  Leg* legs;        // [point][end]
  float* activity;  // [point][end][step]
  float* spectra;   // [line][step]
};

__global__ void __launch_bounds__(leg_threads, 8) follow_legs(DevicePlan plan, int first_point, std::int64_t legs) {
  const std::int64_t n = std::int64_t{blockIdx.x} * leg_threads + threadIdx.x;
  if (n >= legs) return;
  const int point = static_cast<int>(n / plan.end_count), end = static_cast<int>(n % plan.end_count);
  plan.legs[n] =
      plan.law.follow(plan.points[first_point + point].at, plan.ends[end], plan.activity + n * plan.law.steps);
}

/// A leg's steps as a warp adds them: bin i gets what lies `sign` (i - at) steps along the leg.
struct LegOfLine {
  StepsInSpectrum in;
  std::int64_t activity = 0;  // where it begins

  __device__ LegOfLine from_lane(int lane) const {
    LegOfLine of;
    of.in.at = __shfl_sync(whole_warp, in.at, lane);
    of.in.low = __shfl_sync(whole_warp, in.low, lane);
    of.in.high = __shfl_sync(whole_warp, in.high, lane);
    of.in.begin = __shfl_sync(whole_warp, in.begin, lane);
    of.in.end = __shfl_sync(whole_warp, in.end, lane);
    of.activity = __shfl_sync(whole_warp, activity, lane);
    return of;
  }
  /// All lanes of a warp call; each bin is one lane's.
  template <int sign>
  __device__ void add(const float* activities, int lane, float* spectrum) const {
    if (in.end <= in.begin) return;
    const float* const of_step = activities + activity;
    const int first = sign > 0 ? in.at + in.begin : in.at - in.end + 1, bins = in.end - in.begin + 1;
    for (int n = lane; n < bins; n += scatter_lanes) {
      const int bin = first + n, k = sign * (bin - in.at), before = k - sign;  // whose low and high shares it gets
      float sum = spectrum[bin];
      if (k >= in.begin && k < in.end) sum += in.low * of_step[k];
      if (before >= in.begin && before < in.end) sum += in.high * of_step[before];
      spectrum[bin] = sum;
    }
    __syncwarp();  // the next leg's bins are other lanes'
  }
};

__global__ void __launch_bounds__(most_warps* scatter_lanes) add_points(DevicePlan plan, int first_point, int points) {
  extern __shared__ float spectra[];
  const int warp = static_cast<int>(threadIdx.x) / scatter_lanes, lane = static_cast<int>(threadIdx.x) % scatter_lanes;
  const int number = static_cast<int>(blockIdx.x * (blockDim.x / scatter_lanes)) + warp;
  if (number >= plan.line_count) return;
  const int rows = plan.line_count / plan.apart;
  const std::int64_t n = std::int64_t{number % rows} * plan.apart + number / rows;
  const int steps = plan.spectrum.steps;
  const bool has_tof = plan.spectrum.has_tof();
  float* const spectrum = spectra + warp * steps;
  float* const kept = plan.spectra + n * steps;
  for (int i = lane; i < steps; i += scatter_lanes) spectrum[i] = kept[i];
  __syncwarp();
  const ScatterLine line = plan.lines[n];
  float without_tof = 0;
  for (int begin = 0; begin < points; begin += scatter_lanes) {
    const int point = begin + lane;
    LegOfLine of_a, of_b;
    if (point < points) {
      const std::int64_t at_a = std::int64_t{point} * plan.end_count + line.a,
                         at_b = std::int64_t{point} * plan.end_count + line.b;
      const Leg a = plan.legs[at_a], b = plan.legs[at_b];
      const PairFactors factors = PairFactors::of(plan.table, plan.points[first_point + point].weight, a, b);
      of_a.activity = at_a * plan.law.steps;
      of_b.activity = at_b * plan.law.steps;
      if (!has_tof) {
        if (a.end > 0) without_tof += factors.of_a * plan.activity[of_a.activity];
        if (b.end > 0) without_tof += factors.of_b * plan.activity[of_b.activity];
      } else if (factors.of_a != 0 || factors.of_b != 0) {
        const double middle = plan.spectrum.middle(a, b);
        of_a.in = StepsInSpectrum::of<-1>(a, factors.of_a, middle - 0.5, steps);
        of_b.in = StepsInSpectrum::of<1>(b, factors.of_b, middle + 0.5, steps);
      }
    }
    for (int p = 0; has_tof && p < min(scatter_lanes, points - begin); ++p) {
      of_a.from_lane(p).add<-1>(plan.activity, lane, spectrum);
      of_b.from_lane(p).add<1>(plan.activity, lane, spectrum);
    }
  }
  if (!has_tof) {
    for (int apart = scatter_lanes / 2; apart > 0; apart /= 2)
      without_tof += __shfl_xor_sync(whole_warp, without_tof, apart);
    if (lane == 0) kept[0] = spectrum[0] + without_tof;
    return;
  }
  for (int i = lane; i < steps; i += scatter_lanes) kept[i] = spectrum[i];
}

__global__ void __launch_bounds__(sample_threads) make_samples(DevicePlan plan, float* values) {
  const std::int64_t n = std::int64_t{blockIdx.x} * sample_threads + threadIdx.x;
  if (n >= std::int64_t{plan.line_count} * plan.tof_samples) return;
  // Neighbouring threads have samples of one line.
  const int t = static_cast<int>(n % plan.tof_samples);
  const std::int64_t line = n / plan.tof_samples;
  const float* const response = plan.tof_response + std::int64_t{t} * plan.spectrum.steps;
  values[std::int64_t{t} * plan.line_count + line] =
      plan.spectrum.sample(plan.spectra + line * plan.spectrum.steps, response) * plan.inverse_own[line];
}

unsigned blocks_for(std::int64_t items, int a_block) {
  return static_cast<unsigned>((items + a_block - 1) / a_block);
}

template <class T>
Buffer<T> on_device(const std::vector<T>& values) {
  Buffer<T> made(Memory::device, static_cast<std::int64_t>(values.size()));
  detail::copy(made.data(), Memory::device, values.data(), Memory::host, made.bytes(), nullptr);
  return made;
}

Buffer<float> on_device(RayView& image) {
  const std::int64_t size = std::int64_t{image.size[0]} * image.size[1] * image.size[2];
  Buffer<float> made(Memory::device, size);
  detail::copy(made.data(), Memory::device, image.values, Memory::host, made.bytes(), nullptr);
  image.values = made.data();
  return made;
}

/// As many lines a block as its spectra have room for.
int warps_of(const SpectrumLaw& spectrum) {
  constexpr std::size_t most_bytes = std::size_t{48} << 10;  // what a block may have without asking
  const std::size_t a_line = static_cast<std::size_t>(spectrum.steps) * sizeof(float);
  const auto warps = static_cast<int>(std::min<std::size_t>(most_bytes / a_line, most_warps));
  if (warps == 0)
    throw std::invalid_argument("scatter with ToF in " + std::to_string(spectrum.steps) +
                                " steps is too fine for a GPU: take backend: cpu");
  return warps;
}

}  // namespace

std::vector<float> scatter_on_cuda(const ScatterPlan& plan, const ScatterProgress& progress) {
  require_cuda();
  const auto points = on_device(plan.points);
  const auto ends = on_device(plan.ends);
  const auto lines = on_device(plan.lines);
  const auto inverse_own = on_device(plan.inverse_own);
  const auto scattered = on_device(plan.scattered), ratio = on_device(plan.ratio);
  const auto tof_response = on_device(plan.tof_response);
  LegLaw law = plan.law;
  const auto mu = on_device(law.mu), activity_image = on_device(law.activity);
  const auto line_count = static_cast<std::int64_t>(plan.lines.size()),
             end_count = static_cast<std::int64_t>(plan.ends.size());
  auto spectra = Buffer<float>::zeros(Memory::device, line_count * plan.spectrum.steps);

  // The more legs are held, the less often are spectra read and written.
  const std::int64_t most_bytes = std::min(std::int64_t{1} << 30, static_cast<std::int64_t>(free_device_bytes() / 4));
  const std::int64_t a_point =
      end_count * (static_cast<std::int64_t>(sizeof(Leg)) + law.steps * static_cast<std::int64_t>(sizeof(float)));
  const auto all = static_cast<std::int64_t>(plan.points.size());
  const std::int64_t at_once = std::clamp<std::int64_t>(most_bytes / a_point, 1, all);
  Buffer<Leg> legs(Memory::device, at_once * end_count);
  Buffer<float> activity(Memory::device, at_once * end_count * law.steps);
  const DevicePlan there{points.data(),
                         ends.data(),
                         lines.data(),
                         inverse_own.data(),
                         tof_response.data(),
                         law,
                         {scattered.data(), ratio.data()},
                         plan.spectrum,
                         static_cast<int>(end_count),
                         static_cast<int>(line_count),
                         plan.tof_samples,
                         plan.lines_apart,
                         legs.data(),
                         activity.data(),
                         spectra.data()};
  const int warps = warps_of(plan.spectrum);
  const std::size_t bytes = static_cast<std::size_t>(warps * plan.spectrum.steps) * sizeof(float);
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    if (progress) progress(first);
    follow_legs<<<blocks_for(count * end_count, leg_threads), leg_threads>>>(there, static_cast<int>(first),
                                                                             count * end_count);
    check_launch("follow the legs of scattered photons");
    add_points<<<blocks_for(line_count, warps), static_cast<unsigned>(warps * scatter_lanes), bytes>>>(
        there, static_cast<int>(first), static_cast<int>(count));
    check_launch("add up what scatter points give to lines");
  }
  const std::int64_t samples = line_count * plan.tof_samples;
  Buffer<float> values(Memory::device, samples);
  make_samples<<<blocks_for(samples, sample_threads), sample_threads>>>(there, values.data());
  check_launch("make samples of scatter");
  return values.to_vector();
}

}  // namespace tofstream::ring_scatter
// SPDX-License-Identifier: Apache-2.0
