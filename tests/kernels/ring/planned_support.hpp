// What tests of planned projections share: operators with their references, planned events, and what holds for them on
// any backend.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"

namespace tofstream::testing {

using Numbers = std::vector<float>;

/// An operator on each backend; `path` is for a GPU.
struct Operator {
  std::string what;
  Grid grid;
  std::function<std::unique_ptr<ListModeProjector>(const Grid&, Backend, CudaPath, bool deterministic)> make;
  std::function<std::unique_ptr<ListModeProjector>(const Grid&)> make_reference;
};

inline Operator joseph(const Grid& grid) {
  return {"Joseph", grid,
          [](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_joseph_projector(g, {.cuda_path = path, .deterministic = deterministic}, backend);
          },
          [](const Grid& g) { return make_joseph_reference(g, {}); }};
}

inline Operator tor(const Grid& grid, float radius_mm, Normalise normalise = Normalise::none) {
  const auto response = RadialResponse::gaussian(0.86f * radius_mm, radius_mm);
  return {normalise == Normalise::slice ? "TOR by slice" : "TOR", grid,
          [=](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_tor_projector(
                g, {.response = response, .cuda_path = path, .deterministic = deterministic, .normalise = normalise},
                backend);
          },
          [=](const Grid& g) { return make_tor_reference(g, {.response = response, .normalise = normalise}); }};
}

inline Operator blobs(const Grid& grid) {
  return {"blobs", grid,
          [](const Grid& g, Backend backend, CudaPath path, bool deterministic) {
            return make_blob_projector(g, {.cuda_path = path, .deterministic = deterministic}, backend);
          },
          [](const Grid& g) { return make_blob_reference(g, {}); }};
}

inline std::vector<Operator> operators() {
  const Grid voxels = Grid::centred(21, 18, 14, {4, 4, 4});
  return {joseph(voxels), tor(voxels, 6), tor(voxels, 6, Normalise::slice), tor(voxels, 20),
          blobs(blob_grid(15, 12, 9, 8.15f))};
}

/// A projector with events in its memory, planned if it makes plans.
class Planned {
 public:
  Planned(const Operator& of, const EventBatch& batch, Backend backend, CudaPath path, bool deterministic = false)
      : projector_(of.make(of.grid, backend, path, deterministic)),
        memory_(memory_of(backend)),
        events_(batch.to(memory_)),
        plan_(projector_->plan(events_.view())) {}
  /// Other events for the projector of `beside`, whose plan stays.
  Planned(const Planned& beside, const EventBatch& batch)
      : projector_(beside.projector_),
        memory_(beside.memory_),
        events_(batch.to(memory_)),
        plan_(projector_->plan(events_.view())) {}

  ListModeProjector& projector() { return *projector_; }
  bool has_plan() const { return plan_ != nullptr; }
  void drop_plan() { plan_.reset(); }
  /// Other events in place of those that it had.
  void plan_for(const EventBatch& batch) {
    events_ = batch.to(memory_);
    plan_ = projector_->plan(events_.view());
  }

  Numbers forward(const Numbers& image) const {
    const Buffer<float> x = there(image);
    Buffer<float> expectation = there(Numbers(static_cast<std::size_t>(events_.count), NAN));  // all are written
    projector_->planned_forward(plan_.get(), events_.view(), x.data(), expectation.data());
    return expectation.to_vector();
  }
  Numbers direct_forward(const Numbers& image) const {
    const Buffer<float> x = there(image);
    Buffer<float> expectation(memory_, events_.count);
    projector_->forward(events_.view(), x.data(), expectation.data());
    return expectation.to_vector();
  }
  /// `values` empty stands for null; added to `before` in each voxel.
  Numbers back(const Numbers& values, float before = 0) const {
    const Buffer<float> y = there(values);
    Buffer<float> image = there(Numbers(static_cast<std::size_t>(projector_->grid().voxels()), before));
    projector_->planned_back(plan_.get(), events_.view(), values.empty() ? nullptr : y.data(), image.data());
    return image.to_vector();
  }
  Numbers direct_back(const Numbers& values) const {
    const Buffer<float> y = there(values);
    auto image = Buffer<float>::zeros(memory_, projector_->grid().voxels());
    projector_->back(events_.view(), y.data(), image.data());
    return image.to_vector();
  }
  Numbers em(const Numbers& image) const { return em_and_tally(image).first; }
  std::pair<Numbers, EmTally> em_and_tally(const Numbers& image) const {
    const Buffer<float> x = there(image);
    auto sums = Buffer<float>::zeros(memory_, projector_->grid().voxels());
    const EmTally tally = projector_->planned_em_step(plan_.get(), events_.view(), x.data(), sums.data());
    return {sums.to_vector(), tally};
  }

 private:
  Buffer<float> there(const Numbers& numbers) const { return Buffer<float>::from(numbers).to(memory_); }

  std::shared_ptr<ListModeProjector> projector_;
  Memory memory_;
  EventBatch events_;
  std::unique_ptr<ProjectionPlan> plan_;
};

inline double norm_of(const Numbers& numbers) {
  return std::sqrt(inner(numbers, numbers));
}

inline float largest_of(const Numbers& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

inline Numbers plus(Numbers numbers, float number) {
  for (float& each : numbers) each += number;
  return numbers;
}

/// Everything that holds for planned projections on any backend. Images and values have both signs, and so have
/// expectations. `by_tiles`: on a GPU there is a plan.
inline void check_operator(const Operator& of, const EventBatch& batch, Backend backend, CudaPath path,
                           bool by_tiles = true) {
  CAPTURE(of.what);
  CAPTURE(batch.tof.sigma_mm);
  CAPTURE(batch.tof.bin_width_mm);
  const auto x = random_numbers(of.grid.voxels(), 1, -0.5f, 1), y = random_numbers(batch.count, 2, -1, 1);
  Planned planned(of, batch, backend, path);
  CHECK(planned.has_plan() == (backend == Backend::cuda && by_tiles));
  const auto reference = of.make_reference(of.grid);
  Numbers expected_forward(y.size()), expected_back(x.size(), 0.0f);
  reference->forward(batch.view(), x.data(), expected_forward.data());
  reference->back(batch.view(), y.data(), expected_back.data());

  const Numbers forward = planned.forward(x), back = planned.back(y);
  // Terms of either sign cancel. A tile's coordinates are floats, and it takes the response of a wide bin in pieces:
  // see tor_agreement.cpp.
  const double tolerance = backend == Backend::cuda ? 1.5e-4 : 2e-5;
  CHECK(error_of_range(forward, expected_forward) < tolerance);
  CHECK(error_of_range(back, expected_back) < tolerance);
  CHECK(rms_of_range(forward, expected_forward) < 0.2 * tolerance);
  CHECK(rms_of_range(back, expected_back) < 0.2 * tolerance);
  CHECK(error_of_range(forward, planned.direct_forward(x)) < tolerance);
  CHECK(error_of_range(back, planned.direct_back(y)) < tolerance);
  CHECK(std::abs(inner(forward, y) - inner(x, back)) < 1e-5 * norm_of(forward) * norm_of(y));
  const float before = largest_of(back);  // a larger image would leave the sums few digits
  CHECK(error_of_range(planned.back(y, before), plus(back, before)) < 1e-5);
  const Numbers ones(y.size(), 1.0f);
  const double order = backend == Backend::cuda ? 3e-6 : 1e-6;  // by the order of additions
  CHECK(error_of_range(planned.back({}), planned.back(ones)) < order);
  planned.drop_plan();
  CHECK(error_of_range(planned.forward(x), planned.direct_forward(x)) < 1e-6);
  CHECK(error_of_range(planned.back(y), planned.direct_back(y)) < order);
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
