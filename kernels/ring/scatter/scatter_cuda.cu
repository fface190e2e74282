// Single scatter's samples on a GPU: see scatter_plan.hpp. Legs of some points are followed by a thread each; then a
// thread has a line, whose spectrum it keeps in shared memory while it goes from point to point. Neighbouring lines have
// one end in common and neighbouring other ends, of which all that is read lies side by side. All sums are in a fixed order.
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

constexpr int lines_a_block = 32, leg_threads = 128, sample_threads = 128;

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
  int apart;        // lines of neighbouring threads, which so have an end in common
  Leg* legs;        // [point][end]
  float* activity;  // [point][step][end]
  float* spectra;   // [step][line in the order of blocks]

  __device__ Leg leg(int point, std::uint32_t end) const { return legs[std::int64_t{point} * end_count + end]; }
  __device__ float* activity_along(int point, std::uint32_t end) const {
    return activity + std::int64_t{point} * law.steps * end_count + end;
  }
  __device__ std::int64_t line_of(int number) const {
    const int rows = line_count / apart;
    return std::int64_t{number % rows} * apart + number / rows;
  }
};

__global__ void __launch_bounds__(leg_threads, 8) follow_legs(DevicePlan plan, int first_point, std::int64_t legs) {
  const std::int64_t n = std::int64_t{blockIdx.x} * leg_threads + threadIdx.x;
  if (n >= legs) return;
  const int point = static_cast<int>(n / plan.end_count), end = static_cast<int>(n % plan.end_count);
  plan.legs[n] = plan.law.follow(plan.points[first_point + point].at, plan.ends[end], plan.activity_along(point, end),
                                 plan.end_count);
}

/// Adds a leg's activity to a line's spectrum, whose steps lie lines_a_block apart. Some steps are loaded at once: a load
/// takes as long as hundreds of additions.
template <int sign>
__device__ void add_leg(const StepsInSpectrum& in, const float* activity, std::ptrdiff_t apart, float* spectrum) {
  if (in.end <= in.begin) return;
  constexpr int at_once = 8;
  const float of_step = sign > 0 ? in.low : in.high, of_before = sign > 0 ? in.high : in.low;
  float before = 0;
  float* bin = spectrum + (in.at + sign * in.begin + (sign < 0)) * lines_a_block;
  for (int begin = in.begin; begin <= in.end; begin += at_once) {
    float here[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) here[k] = begin + k < in.end ? __ldg(activity + (begin + k) * apart) : 0;
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      if (begin + k <= in.end) bin[sign * k * lines_a_block] += of_step * here[k] + of_before * before;
      before = here[k];
    }
    bin += sign * at_once * lines_a_block;
  }
}

__global__ void __launch_bounds__(lines_a_block) add_points(DevicePlan plan, int first_point, int points) {
  extern __shared__ float spectra[];  // [step][line of the block]
  float* const spectrum = spectra + threadIdx.x;
  const int number = static_cast<int>(blockIdx.x) * lines_a_block + static_cast<int>(threadIdx.x);
  if (number >= plan.line_count) return;
  const int steps = plan.spectrum.steps;
  const bool has_tof = plan.spectrum.has_tof();
  float* const kept = plan.spectra + number;  // [step][number]
  for (int i = 0; i < steps; ++i) spectrum[i * lines_a_block] = kept[std::int64_t{i} * plan.line_count];
  const ScatterLine line = plan.lines[plan.line_of(number)];
  Leg next_a = plan.leg(0, line.a), next_b = plan.leg(0, line.b);
  for (int point = 0; point < points; ++point) {
    const Leg a = next_a, b = next_b;
    const int next = min(point + 1, points - 1);
    next_a = plan.leg(next, line.a);
    next_b = plan.leg(next, line.b);
    const float* const along_a = plan.activity_along(point, line.a);
    const float* const along_b = plan.activity_along(point, line.b);
    const PairFactors factors = PairFactors::of(plan.table, plan.points[first_point + point].weight, a, b);
    if (!has_tof) {
      if (a.end > 0) spectrum[0] += factors.of_a * along_a[0];
      if (b.end > 0) spectrum[0] += factors.of_b * along_b[0];
    } else if (factors.of_a != 0 || factors.of_b != 0) {
      const double middle = plan.spectrum.middle(a, b);
      add_leg<-1>(StepsInSpectrum::of<-1>(a, factors.of_a, middle - 0.5, steps), along_a, plan.end_count, spectrum);
      add_leg<1>(StepsInSpectrum::of<1>(b, factors.of_b, middle + 0.5, steps), along_b, plan.end_count, spectrum);
    }
  }
  for (int i = 0; i < steps; ++i) kept[std::int64_t{i} * plan.line_count] = spectrum[i * lines_a_block];
}

__global__ void __launch_bounds__(sample_threads) make_samples(DevicePlan plan, float* values) {
  const std::int64_t n = std::int64_t{blockIdx.x} * sample_threads + threadIdx.x;
  if (n >= std::int64_t{plan.line_count} * plan.tof_samples) return;
  const int number = static_cast<int>(n % plan.line_count), t = static_cast<int>(n / plan.line_count);
  const std::int64_t line = plan.line_of(number);
  const float* const response = plan.tof_response + std::int64_t{t} * plan.spectrum.steps;
  values[std::int64_t{t} * plan.line_count + line] =
      plan.spectrum.sample(plan.spectra + number, plan.line_count, response) * plan.inverse_own[line];
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

/// Of a block's spectra.
int shared_bytes_of(const SpectrumLaw& spectrum) {
  constexpr int a_step = lines_a_block * static_cast<int>(sizeof(float));
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  if (spectrum.steps > most / a_step)
    throw std::invalid_argument("scatter with ToF in " + std::to_string(spectrum.steps) +
                                " steps is too fine for this GPU, which has room for " + std::to_string(most / a_step) +
                                ": take backend: cpu");
  const int bytes = spectrum.steps * a_step;
  check_cuda(cudaFuncSetAttribute(add_points, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "get shared memory for spectra of scatter");
  return bytes;
}

}  // namespace

std::vector<float> scatter_on_cuda(const ScatterPlan& plan, const ScatterProgress& progress) {
  require_cuda();
  const auto points = on_device(plan.points);
  const auto ends = on_device(plan.ends);
  const auto lines = on_device(plan.lines);
  const auto inverse_own = on_device(plan.inverse_own);
  const auto angles = on_device(plan.angles);
  const auto tof_response = on_device(plan.tof_response);
  LegLaw law = plan.law;
  const auto mu = on_device(law.mu), activity_image = on_device(law.activity);
  const auto line_count = static_cast<std::int64_t>(plan.lines.size()),
             end_count = static_cast<std::int64_t>(plan.ends.size());
  auto spectra = Buffer<float>::zeros(Memory::device, line_count * plan.spectrum.steps);

  // The more legs are held, the less often are spectra read and written.
  const std::int64_t most_bytes = std::min(std::int64_t{4} << 30, static_cast<std::int64_t>(free_device_bytes() / 4));
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
                         {angles.data()},
                         plan.spectrum,
                         static_cast<int>(end_count),
                         static_cast<int>(line_count),
                         plan.tof_samples,
                         plan.lines_apart,
                         legs.data(),
                         activity.data(),
                         spectra.data()};
  const auto bytes = static_cast<std::size_t>(shared_bytes_of(plan.spectrum));
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    if (progress) progress(first);
    follow_legs<<<blocks_for(count * end_count, leg_threads), leg_threads>>>(there, static_cast<int>(first),
                                                                             count * end_count);
    check_launch("follow the legs of scattered photons");
    add_points<<<blocks_for(line_count, lines_a_block), lines_a_block, bytes>>>(there, static_cast<int>(first),
                                                                                static_cast<int>(count));
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
