// Cui et al.'s own GPU scheme as a projector (II.B.1-11): plan.cuh lays lines out, kernels.cuh projects them slice by
// slice, and this file makes a pass of list-mode EM of them. Two lattices of blobs are projected one after the other
// (II.B.5 and 6). ToF is sampled at the bin's centre, as the paper says (II.B.7), where all else integrates over the
// bin: for bins much narrower than the response.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/memory/device.hpp"
#include "kernels/project/event_ratio_cuda.cuh"
#include "kernels/ring/tor/paper/kernels.cuh"
#include "kernels/ring/tor/paper/paper.hpp"
#include "kernels/ring/tor/paper/plan.cuh"
#include "kernels/ring/tor/paper/radial_texture.cuh"
#include "kernels/ring/tor/tor_backends.hpp"

namespace tofstream::tor {

namespace paper {

namespace {

/// Turns sums of lines into expectations of events: sets them, or adds to them for a lattice that is not the first.
__global__ void give_expectations(Lines lines, const std::uint32_t* order, const float* sums, bool add,
                                  float* expectation) {
  const std::int64_t i = elementwise::element();
  if (i >= lines.count()) return;
  float& target = expectation[order ? order[i] : i];
  target = sums[i] * lines.scale(i) + (add ? target : 0.0f);
}

/// Turns values of events (null: ones) into those of lines, times the lines' scale.
__global__ void take_values(Lines lines, const std::uint32_t* order, const float* values, float* scaled) {
  const std::int64_t i = elementwise::element();
  if (i < lines.count()) scaled[i] = lines.scale(i) * (values ? values[order ? order[i] : i] : 1.0f);
}

/// The response as the scheme evaluates it: a texture holds any as samples.
TorSettings as_evaluated(TorSettings settings) {
  const RadialResponse& response = settings.response;
  if (settings.paper.texture && !response.values().empty())
    settings.response = RadialResponse::table(response.values(), response.tube_radius_mm());
  return settings;
}

/// Words of shared memory that a block may take for a slice.
std::int64_t words_of_block(const PaperScheme& scheme) {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "read shared memory");
  most -= 1024;  // what kernels hold besides a slice
  const std::int64_t bytes = scheme.shared_bytes > 0 ? std::min<std::int64_t>(scheme.shared_bytes, most) : most;
  return bytes / static_cast<std::int64_t>(sizeof(float));
}

/// The lines of a batch on each of the image's lattices.
class BatchPlan final : public ProjectionPlan {
 public:
  BatchPlan(const std::vector<Model>& lattices, const PaperScheme& scheme, const EventView& events, Stream stream)
      : count_(events.count) {
    for (const Model& model : lattices)
      lines_.push_back(std::make_unique<LinePlan>(make_pass(model, events, true), scheme, stream));
  }
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const auto& lines : lines_) sum += lines->bytes();
    return sum;
  }
  std::int64_t count() const { return count_; }
  const LinePlan& lattice(std::size_t which) const { return *lines_[which]; }

 private:
  std::int64_t count_;
  std::vector<std::unique_ptr<LinePlan>> lines_;
};

class CudaPaperProjector final : public PaperProjector {
 public:
  CudaPaperProjector(const Grid& grid, const TorSettings& given)
      : grid_(grid),
        settings_(as_evaluated(given)),
        lattices_(make_lattice_models(grid, settings_)),
        table_(Buffer<float>::from(settings_.response.values()).to(Memory::device)),
        tally_(Memory::device, 1) {
    const PaperScheme& scheme = settings_.paper;
    const Model& model = lattices_.front();
    if (scheme.texture) texture_.emplace(settings_.response.values());
    launch_ = {.staged = scheme.staged_slices,
               .fixed_bounds = scheme.fixed_bounds,
               .unrolled = scheme.unrolled,
               .radial = scheme.texture ? Radial::texture : (model.gaussian ? Radial::gaussian : Radial::other),
               .blocks = static_cast<unsigned>(scheme.blocks > 0 ? scheme.blocks : multiprocessors()),
               .threads = static_cast<unsigned>(scheme.threads)};
    for (int axis = 0; axis < 3; ++axis)
      slices_[axis] = Slices::make(model.grid, axis, model.radius_mm, words_of_block(scheme));
    synchronize(nullptr);  // the table is there before any stream reads it
  }

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cuda; }
  float reach_mm() const override { return lattices_.front().reach_mm(); }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    const BatchPlan plan(lattices_, settings_.paper, events, stream);
    planned_forward(&plan, events, image, expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    const BatchPlan plan(lattices_, settings_.paper, events, stream);
    planned_back(&plan, events, values, image, stream);
  }

  void planned_forward(const ProjectionPlan* given, const EventView& events, const float* image, float* expectation,
                       Stream stream) override {
    if (!given) return forward(events, image, expectation, stream);
    const auto& plan = dynamic_cast<const BatchPlan&>(*given);
    if (plan.count() == 0) return;
    const auto queue = settings_.paper.fast_math ? queue_forward<true> : queue_forward<false>;
    for (std::size_t l = 0; l < lattices_.size(); ++l) {
      const LinePlan& lines = plan.lattice(l);
      grow_line_values(plan.count(), stream);
      check_cuda(
          cudaMemsetAsync(line_values_.data(), 0, static_cast<std::size_t>(plan.count()) * sizeof(float), stream),
          "clear sums");
      queue(task(l, lines, events), launch(stream), image + first_voxel(l), line_values_.data());
      give_expectations<<<elementwise::blocks(plan.count()), elementwise::threads, 0, stream>>>(
          lines.lines(), lines.order(), line_values_.data(), l > 0, expectation);
      check_launch("give expectations");
    }
  }

  void planned_back(const ProjectionPlan* given, const EventView& events, const float* values, float* image,
                    Stream stream) override {
    if (!given) return back(events, values, image, stream);
    const auto& plan = dynamic_cast<const BatchPlan&>(*given);
    if (plan.count() == 0) return;
    const auto queue = settings_.paper.fast_math ? queue_back<true> : queue_back<false>;
    for (std::size_t l = 0; l < lattices_.size(); ++l) {
      const LinePlan& lines = plan.lattice(l);
      grow_line_values(plan.count(), stream);
      take_values<<<elementwise::blocks(plan.count()), elementwise::threads, 0, stream>>>(lines.lines(), lines.order(),
                                                                                          values, line_values_.data());
      check_launch("take values");
      queue(task(l, lines, events), launch(stream), line_values_.data(), image + first_voxel(l));
    }
  }

  Collisions planned_collisions(const ProjectionPlan& plan, const EventView& events) override {
    if (settings_.paper.hardware_atomics)
      throw std::invalid_argument("collisions are counted where additions are loops: switch hardware_atomics off");
    auto of_voxel = Buffer<unsigned>::zeros(Memory::device, grid_.voxels());
    auto writes = Buffer<unsigned long long>::zeros(Memory::device, 1);
    auto image = Buffer<float>::zeros(Memory::device, grid_.voxels());
    // Counted in two passes: counting all writes takes time, in which threads collide less often.
    for (const CollisionCounts counts : {CollisionCounts{of_voxel.data(), nullptr}, {nullptr, writes.data()}}) {
      collisions_ = counts;
      planned_back(&plan, events, nullptr, image.data(), nullptr);
    }
    collisions_ = {};
    return {writes.to_vector().front(), of_voxel.to_vector()};
  }

  std::unique_ptr<ProjectionPlan> plan(const EventView& events, Stream stream) override {
    auto made = std::make_unique<BatchPlan>(lattices_, settings_.paper, events, stream);
    synchronize(stream);
    return made;
  }

  EmTally planned_em_step(const ProjectionPlan* plan, const EventView& events, const float* image, float* accumulator,
                          Stream stream) override {
    if (!plan) return em_step(events, image, accumulator, stream);
    if (events.count == 0) return {};
    tally_.clear(stream);
    if (ratios_.size() < events.count) ratios_ = Buffer<float>(Memory::device, events.count, stream);
    planned_forward(plan, events, image, ratios_.data(), stream);
    make_ratios(events, ratios_.data(), tally_.data(), stream);
    planned_back(plan, events, ratios_.data(), accumulator, stream);
    return tally_.to_vector(stream).front().on_host();
  }

  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    const BatchPlan plan(lattices_, settings_.paper, events, stream);
    return planned_em_step(&plan, events, image, accumulator, stream);
  }

 private:
  void grow_line_values(std::int64_t count, Stream stream) {
    if (line_values_.size() < count) line_values_ = Buffer<float>(Memory::device, count, stream);
  }

  Task task(std::size_t lattice, const LinePlan& lines, const EventView& events) const {
    Task task;
    task.pass = make_pass(lattices_[lattice], events, true);
    task.lines = lines.lines();
    std::ranges::copy(slices_, task.slices);
    std::copy_n(lines.axis_begin(), 4, task.axis_begin);
    task.partitioned = settings_.paper.partition;
    task.skip_slices = settings_.paper.skip_slices;
    task.hardware_atomics = settings_.paper.hardware_atomics;
    task.collisions = collisions_;
    if (collisions_.of_voxel) task.collisions.of_voxel += first_voxel(lattice);
    task.table = table_.data();
    task.texture = texture_ ? texture_->get() : 0;
    return task;
  }

  Launch launch(Stream stream) const {
    Launch launch = launch_;
    launch.stream = stream;
    return launch;
  }

  std::int64_t first_voxel(std::size_t lattice) const {
    return static_cast<std::int64_t>(lattice) * lattices_.front().grid.voxels();
  }

  Grid grid_;
  TorSettings settings_;
  std::vector<Model> lattices_;  // one of voxels, or two of blobs, which differ in where they lie
  Slices slices_[3];
  Launch launch_;
  CollisionCounts collisions_;  // while they are counted
  Buffer<float> table_;
  std::optional<RadialTexture> texture_;
  Buffer<float> line_values_, ratios_;  // as a plan orders lines; as the events come
  Buffer<DeviceTally> tally_;
};

}  // namespace

}  // namespace paper

std::unique_ptr<ListModeProjector> make_paper(const Grid& grid, const TorSettings& settings) {
  return std::make_unique<paper::CudaPaperProjector>(grid, settings);
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
