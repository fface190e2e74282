// What the benchmarks of projectors share: see bench_projecting.hpp.
#include "tools/bench/bench_projecting.hpp"

#include <limits>
#include <utility>

#include <tbb/parallel_for.h>

#include "kernels/project/expectation.hpp"
#include "kernels/project/reference.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

class WrongProjector final : public ListModeProjector {
 public:
  WrongProjector(std::unique_ptr<ListModeProjector> right, double share) : right_(std::move(right)), share_(share) {}

  const Grid& grid() const override { return right_->grid(); }
  Backend backend() const override { return right_->backend(); }
  float reach_mm() const override { return right_->reach_mm(); }
  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    right_->forward(events, image, expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    enlarge(image, [&] { right_->back(events, values, image, stream); });
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    EmTally tally;
    enlarge(accumulator, [&] { tally = right_->em_step(events, image, accumulator, stream); });
    return tally;
  }

 private:
  template <class Add>
  void enlarge(float* image, const Add& add) const {
    const std::vector<float> before(image, image + grid().voxels());
    add();
    for (std::size_t v = 0; v < before.size(); ++v) image[v] += static_cast<float>(share_) * (image[v] - before[v]);
  }

  const std::unique_ptr<ListModeProjector> right_;
  const double share_;
};

struct Touched {
  std::int64_t voxel;
  double weight;
};

/// Calls use(event, what its line touches) for each event in order; every core computes its share of the lines.
template <class Use>
void for_each_line(const ListModeProjector& reference, const EventView& events, const Use& use) {
  const auto& wide = dynamic_cast<const ReferenceProjector&>(reference);
  constexpr std::int64_t at_once = 256;  // lines in memory at a time
  std::vector<std::vector<Touched>> lines(at_once);
  for (std::int64_t begin = 0; begin < events.count; begin += at_once) {
    const std::int64_t count = std::min(at_once, events.count - begin);
    tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t k) {
      auto& line = lines[static_cast<std::size_t>(k)];
      line.clear();
      wide.for_each_voxel(events, begin + k, [&](std::int64_t voxel, double weight) {
        line.push_back({voxel, weight});
      });
    });
    for (std::int64_t k = 0; k < count; ++k) use(begin + k, lines[static_cast<std::size_t>(k)]);
  }
}

double sum_along(const std::vector<Touched>& line, const Image& image) {
  double sum = 0;
  for (const Touched& touched : line) sum += touched.weight * static_cast<double>(image.voxels[touched.voxel]);
  return sum;
}

void add_along(const std::vector<Touched>& line, double value, std::vector<double>& sums) {
  for (const Touched& touched : line) sums[static_cast<std::size_t>(touched.voxel)] += touched.weight * value;
}

}  // namespace

std::vector<double> reference_em_step(const ListModeProjector& reference, const EventView& events, const Image& image) {
  std::vector<double> sums(static_cast<std::size_t>(image.voxels.size()), 0.0);
  for_each_line(reference, events, [&](std::int64_t event, const std::vector<Touched>& line) {
    const double additive = events.additive ? static_cast<double>(events.additive[event]) : 0.0;
    const double expectation = sum_along(line, image) + additive;
    if (usable(expectation)) add_along(line, 1 / expectation, sums);
  });
  return sums;
}

ReferenceProjections reference_projections(const ListModeProjector& reference, const EventView& events,
                                           const Image& image, std::span<const float> values) {
  ReferenceProjections projections{{}, std::vector<double>(static_cast<std::size_t>(image.voxels.size()), 0.0)};
  for_each_line(reference, events, [&](std::int64_t event, const std::vector<Touched>& line) {
    projections.forward.push_back(sum_along(line, image));
    add_along(line, static_cast<double>(values[static_cast<std::size_t>(event)]), projections.back);
  });
  return projections;
}

double touched_nrms(std::span<const float> result, const std::vector<double>& expected) {
  double squares = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t touched = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto value = static_cast<double>(result[i]);
    if (value == 0 && expected[i] == 0) continue;
    ++touched;
    squares += (value - expected[i]) * (value - expected[i]);
    low = std::min(low, expected[i]);
    high = std::max(high, expected[i]);
  }
  if (touched == 0 || !(high > low)) return std::numeric_limits<double>::quiet_NaN();  // nothing was compared
  return std::sqrt(squares / static_cast<double>(touched)) / (high - low);
}

double em_step_nrms(ListModeProjector& projector, const EventView& there, const ListModeProjector& reference,
                    const EventView& here, const Image& image) {
  const Memory memory = memory_of(projector.backend());
  const Image image_there = image.to(memory);
  Image result = Image::zeros(image.grid, memory);
  projector.em_step(there, image_there.voxels.data(), result.voxels.data());
  return touched_nrms(result.voxels.to_vector(), reference_em_step(reference, here, image));
}

ProjectionsNrms planned_nrms(ListModeProjector& projector, const EventView& there, const ListModeProjector& reference,
                             const EventView& here, const Image& image) {
  const Memory memory = memory_of(projector.backend());
  const std::vector<float> values = uniform_values(there.count, -1, 1);
  const Image image_there = image.to(memory);
  const Buffer<float> values_there = Buffer<float>::from(values).to(memory);
  Buffer<float> forward(memory, there.count);
  Image back = Image::zeros(image.grid, memory);
  const auto plan = projector.plan(there);
  projector.planned_forward(plan.get(), there, image_there.voxels.data(), forward.data());
  projector.planned_back(plan.get(), there, values_there.data(), back.voxels.data());
  const ReferenceProjections expected = reference_projections(reference, here, image, values);
  return {touched_nrms(forward.to_vector(), expected.forward), touched_nrms(back.voxels.to_vector(), expected.back)};
}

std::unique_ptr<ListModeProjector> made_wrong(std::unique_ptr<ListModeProjector> projector, double share) {
  if (share == 0) return projector;
  if (projector->backend() != Backend::cpu) throw InputError("--wrong is for --backend cpu");
  return std::make_unique<WrongProjector>(std::move(projector), share);
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
