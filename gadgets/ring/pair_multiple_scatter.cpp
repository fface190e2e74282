// Scatter of more than one order: see pair_multiple_scatter.hpp.
#include "gadgets/ring/pair_multiple_scatter.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

namespace tofstream {
namespace {

double sum_of_samples(const ScatterEstimate& estimate) {
  return std::accumulate(estimate.values.begin(), estimate.values.end(), 0.0,
                         [](double sum, float value) { return sum + static_cast<double>(value); });
}

}  // namespace

MultipleScatterPart add_multiple_scatter(ScatterEstimate& estimate, const Image& activity, const Image& mu_per_mm,
                                         const ScatterDetectors& detectors, const ScatterSampling& sampling,
                                         double error, Backend backend, const ImageScatterProgress& progress) {
  const auto began = std::chrono::steady_clock::now();
  const MultipleScatter made = multiple_scatter(activity, mu_per_mm, detectors, sampling, {.error = error}, backend,
                                                [&](double done) { progress(done, "of multiple scatter"); });
  const double single = sum_of_samples(estimate), multiple = sum_of_samples(made.estimate);
  std::ranges::transform(estimate.values, made.estimate.values, estimate.values.begin(), std::plus<>());
  return {.share = multiple / (single + multiple),
          .relative_error = made.relative_error,
          .decays = made.decays,
          .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
