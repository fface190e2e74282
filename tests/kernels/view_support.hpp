// Views for the kernels' tests: a camera on a circle, and batches of its views.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/types/views.hpp"

namespace tofstream::testing {

/// A camera at `views` equal steps of a whole turn, 100 mm from the axis, with pixels of 4 mm.
inline ViewSet circular_views(int views, int nu, int nw, float pixel_mm = 4, float radius_mm = 100) {
  ViewSet set;
  set.size[0] = nu;
  set.size[1] = nw;
  set.pixel_mm = {pixel_mm, pixel_mm, 0};
  for (int v = 0; v < views; ++v)
    set.places.push_back(
        {.angle_deg = 360.0f * static_cast<float>(v) / static_cast<float>(views), .radius_mm = radius_mm});
  return set;
}

/// These views of the set, of equal weight, without counts.
inline ViewBatch view_batch(std::shared_ptr<const ViewSet> set, const std::vector<int>& numbers) {
  ViewBatch batch;
  batch.set = std::move(set);
  for (const int number : numbers) batch.records.push_back({.view = number});
  batch.count = static_cast<std::int64_t>(numbers.size()) * batch.set->pixels();
  batch.weigh(1);
  return batch;
}
inline ViewBatch view_batch(const ViewSet& set, const std::vector<int>& numbers) {
  return view_batch(std::make_shared<const ViewSet>(set), numbers);
}
/// All views of the set.
inline ViewBatch view_batch(const ViewSet& set) {
  std::vector<int> numbers;
  for (int v = 0; v < static_cast<int>(set.places.size()); ++v) numbers.push_back(v);
  return view_batch(set, numbers);
}

/// Gives the batch counts; each record's are the rounded sum of its view.
inline void set_counts(ViewBatch& batch, std::span<const float> counts) {
  batch.counts = Buffer<float>::from(counts);
  const std::int64_t pixels = batch.set->pixels();
  for (std::size_t r = 0; r < batch.records.size(); ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < pixels; ++i) sum += double{batch.counts[static_cast<std::int64_t>(r) * pixels + i]};
    batch.records[r].counts = static_cast<std::uint64_t>(std::llround(sum));
  }
}

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
