// What the projectors' tests share: small batches, random images, one projector's results on either
// backend, and a loop over SIMD instruction sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <hwy/highway.h>
#include <hwy/targets.h>

#include "kernels/math/simd_targets.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/project/reference.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::testing {

/// Events with free ends; ToF where the model's sigma is positive.
inline EventBatch batch_of(const std::vector<Lor>& lors, TofModel tof = {}) {
  EventBatch batch;
  batch.count = static_cast<std::int64_t>(lors.size());
  batch.tof = tof;
  for (auto& end : batch.ends) end = Buffer<float>(Memory::host, batch.count);
  if (tof.sigma_mm > 0) batch.tof_mm = Buffer<float>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const Lor& lor = lors[static_cast<std::size_t>(i)];
    for (int axis = 0; axis < 3; ++axis) {
      batch.ends[axis][i] = lor.end1[axis];
      batch.ends[3 + axis][i] = lor.end2[axis];
    }
    if (tof.sigma_mm > 0) batch.tof_mm[i] = lor.tof_mm;
  }
  return batch;
}

/// Uniform numbers in [low, high), the same on every machine.
inline std::vector<float> random_numbers(std::int64_t count, std::uint64_t seed, float low = 0, float high = 1) {
  std::mt19937_64 generator(seed);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = low + (high - low) * static_cast<float>(generator() >> 40) * 0x1p-24f;
  return numbers;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// All results of a projector for the same events, image and values, on the host.
struct Projections {
  std::vector<float> forward, back, em;
  EmTally tally;
};
inline Projections project(ListModeProjector& projector, const EventBatch& batch, const std::vector<float>& image,
                           const std::vector<float>& values) {
  const Memory memory = memory_of(projector.backend());
  const EventBatch events = batch.to(memory);
  const auto there = [&](const std::vector<float>& numbers) { return Buffer<float>::from(numbers).to(memory); };
  const Buffer<float> x = there(image), y = there(values);
  Buffer<float> expectation(memory, batch.count);
  auto back = Buffer<float>::zeros(memory, projector.grid().voxels());
  auto em = Buffer<float>::zeros(memory, projector.grid().voxels());
  Projections result;
  projector.forward(events.view(), x.data(), expectation.data());
  projector.back(events.view(), y.data(), back.data());
  result.tally = projector.em_step(events.view(), x.data(), em.data());
  result.forward = expectation.to_vector();
  result.back = back.to_vector();
  result.em = em.to_vector();
  return result;
}

inline std::vector<float> forward_of(ListModeProjector& projector, const EventBatch& batch,
                                     const std::vector<float>& image) {
  std::vector<float> expectation(static_cast<std::size_t>(batch.count));
  projector.forward(batch.view(), image.data(), expectation.data());
  return expectation;
}

/// The greatest difference over the range of `expected` (conventions.md, figures of merit).
inline double error_of_range(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  double low = std::numeric_limits<double>::max(), high = -low, error = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    if (!(std::abs(a - e) <= error)) error = std::abs(a - e);
    low = std::min(low, e);
    high = std::max(high, e);
  }
  return error / (high - low);
}

/// The RMS difference over the range of `expected` (conventions.md, figures of merit).
inline double rms_of_range(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  double squares = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    squares += std::pow(static_cast<double>(actual[i]) - static_cast<double>(expected[i]), 2);
  return std::sqrt(squares / static_cast<double>(actual.size())) / static_cast<double>(*high - *low);
}

template <class A, class B>
double inner(const std::vector<A>& a, const std::vector<B>& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Calls check(name) with kernels dispatched to each instruction set that this machine has.
template <class Check>
void for_each_instruction_set(const Check& check) {
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    check(name);
  }
  choose(0);
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
