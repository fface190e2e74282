// Reference projectors: see reference.hpp. List-mode EM is eq. 1 of Cui et al. 2011 (conventions.md, list-mode EM).
#include "kernels/project/reference.hpp"

#include <cmath>

#include "kernels/project/expectation.hpp"

namespace tofstream {

namespace {

void add_to(float* target, const std::vector<double>& image) {
  for (std::size_t v = 0; v < image.size(); ++v)
    target[v] = static_cast<float>(static_cast<double>(target[v]) + image[v]);
}

}  // namespace

ReferenceProjector::ReferenceProjector(const Grid& grid) : grid_(grid) {
  validate_basis(grid);
}

double ReferenceProjector::line_sum(const EventView& events, std::int64_t i, std::span<const double> image) const {
  double sum = 0;
  for_each_voxel(events, i,
                 [&](std::int64_t voxel, double weight) { sum += weight * image[static_cast<std::size_t>(voxel)]; });
  return sum;
}

void ReferenceProjector::add_line(const EventView& events, std::int64_t i, double value,
                                  std::vector<double>& image) const {
  for_each_voxel(events, i,
                 [&](std::int64_t voxel, double weight) { image[static_cast<std::size_t>(voxel)] += weight * value; });
}

std::vector<double> ReferenceProjector::forward(const EventView& events, std::span<const double> image) const {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(events.count));
  for (std::int64_t i = 0; i < events.count; ++i) result.push_back(line_sum(events, i, image));
  return result;
}

std::vector<double> ReferenceProjector::back(const EventView& events, std::span<const double> values) const {
  std::vector<double> image(static_cast<std::size_t>(grid_.voxels()), 0.0);
  for (std::int64_t i = 0; i < events.count; ++i)
    add_line(events, i, values.empty() ? 1.0 : values[static_cast<std::size_t>(i)], image);
  return image;
}

void ReferenceProjector::forward(const EventView& events, const float* image, float* expectation, Stream) {
  const std::vector<double> wide(image, image + grid_.voxels());
  for (std::int64_t i = 0; i < events.count; ++i) expectation[i] = static_cast<float>(line_sum(events, i, wide));
}

void ReferenceProjector::back(const EventView& events, const float* values, float* image, Stream) {
  const std::vector<double> wide = values ? std::vector<double>(values, values + events.count) : std::vector<double>();
  add_to(image, back(events, wide));
}

EmTally ReferenceProjector::em_step(const EventView& events, const float* image, float* accumulator, Stream) {
  const std::vector<double> wide(image, image + grid_.voxels());
  std::vector<double> sum(wide.size(), 0.0);
  EmTally tally;
  for (std::int64_t i = 0; i < events.count; ++i) {
    const double additive = events.additive ? static_cast<double>(events.additive[i]) : 0.0;
    const double y = events.counts ? static_cast<double>(events.counts[i]) : 1.0;
    if (y == 0) continue;
    const double expectation = line_sum(events, i, wide) + additive;
    if (!usable(expectation)) {
      tally.skipped += std::llround(y);
      continue;
    }
    tally.used += std::llround(y);
    tally.log_sum += y * std::log(expectation);
    add_line(events, i, y / expectation, sum);
  }
  add_to(accumulator, sum);
  return tally;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
