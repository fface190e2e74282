// The published two stages on CUDA, a thread a point in each pass: see paper_two_stage.hpp. A view at a time.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/direct_projector.hpp"
#include "kernels/direct/paper_two_stage.hpp"

namespace tofstream {

namespace {

/// to[j] = image[j] over the voxel's unit; null stands for ones, which have no unit.
__global__ void paper_load(PaperStages stages, const float* image, bool by_unit, float* to) {
  const std::int64_t j = elementwise::element();
  if (j >= stages.voxels.points()) return;
  const float value = image ? image[stages.voxels.in_image(j)] : 1.0f;
  to[j] = by_unit ? value / stages.unit_of_voxel(j) : value;
}

template <int along_z>
__global__ void paper_rotate(PaperStages stages, const float* voxels, bool by_unit, float* between) {
  const std::int64_t p = elementwise::element();
  if (p >= stages.between.points()) return;
  const float sum = stages.rotation.gather<along_z>(stages.voxels, voxels, stages.between.position(p));
  between[p] = by_unit ? sum / stages.unit_of_point(p) : sum;
}

template <int along_z>
__global__ void paper_rotate_back(PaperStages stages, const float* between, bool by_unit, bool adds, float* voxels) {
  const std::int64_t j = elementwise::element();
  if (j >= stages.voxels.points()) return;
  float sum = stages.rotation.gather<along_z>(stages.between, between, stages.voxels.position(j));
  if (by_unit) sum /= stages.unit_of_voxel(j);
  float& voxel = voxels[stages.voxels.in_image(j)];
  voxel = adds ? voxel + sum : sum;
}

// Usual voxels and widths need six or seven.
constexpr int few_taps = 8;

bool few_along_z(const PaperStages& stages) {
  return stages.rotation.taps(stages.between.spacing_mm[2]) <= few_taps;
}

enum class PaperPass { along, across, across_transposed, axial, axial_by_unit };

__global__ void paper_blur(PaperStages stages, PaperPass pass, const float* in, float* out) {
  const std::int64_t p = elementwise::element();
  if (p >= stages.between.points()) return;
  float value = 0;
  switch (pass) {
    case PaperPass::along:
      value = stages.blurred_along(in, p);
      break;
    case PaperPass::across:
    case PaperPass::across_transposed:
      value = stages.blurred_across(in, p, pass == PaperPass::across_transposed);
      break;
    case PaperPass::axial:
    case PaperPass::axial_by_unit:
      value = stages.blurred_axially(in, p);
      if (pass == PaperPass::axial_by_unit) value /= stages.unit_of_point(p);
      break;
  }
  out[p] = value;
}

class CudaPaperTwoStage final : public DirectProjector {
 public:
  CudaPaperTwoStage(const Grid& grid, const ViewSet& set, const DirectSettings& settings)
      : DirectProjector(grid, set, settings, Backend::cuda) {
    std::vector<PaperSplit> splits;
    std::vector<float> weights;
    std::vector<int> first;
    std::int64_t most = 0;
    for (const ViewFrame& frame : frames()) {
      const PaperSplit& split = splits.emplace_back(grid, frame, settings.kernel, profiles());
      for (const auto* const some : {&split.along(), &split.axial(), &split.across()})
        weights.insert(weights.end(), some->begin(), some->end());
      first.insert(first.end(), split.first().begin(), split.first().end());
      most = std::max(most, split.stages().between.points());
    }
    weights_ = Buffer<float>::from(weights).to(Memory::device);
    first_ = Buffer<int>::from(first).to(Memory::device);
    const float* at = weights_.data();
    const int* first_at = first_.data();
    for (const PaperSplit& split : splits) {
      const float* const axial = at + split.along().size();
      const float* const across = axial + split.axial().size();
      stages_.push_back(split.stages(at, axial, across, first_at));
      at = across + split.across().size();
      first_at += split.first().size();
    }
    voxels_ = Buffer<float>(Memory::device, grid.voxels());
    in_ = Buffer<float>(Memory::device, most);
    out_ = Buffer<float>(Memory::device, most);
    synchronize(nullptr);  // what is here may next be used on any stream
  }

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) {
      const PaperStages& stages = stages_of(views, v);
      load(stages, image, true, stream);
      rotate(stages, false, stream);
      for (const PaperPass pass : {PaperPass::along, PaperPass::across, PaperPass::axial_by_unit})
        blur(stages, pass, stream);
      rotate_back(stages, false, false, expectation + v * points(), stream);
    }
  }

  void back(const Views& views, const float* values, float* image, Stream stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) {
      const PaperStages& stages = stages_of(views, v);
      load(stages, values ? values + v * points() : nullptr, false, stream);
      rotate(stages, true, stream);
      for (const PaperPass pass : {PaperPass::axial, PaperPass::across_transposed, PaperPass::along})
        blur(stages, pass, stream);
      rotate_back(stages, true, true, image, stream);
    }
  }

 private:
  const PaperStages& stages_of(const Views& views, int v) const {
    return stages_[static_cast<std::size_t>(views.records[v].view)];
  }
  void load(const PaperStages& stages, const float* image, bool by_unit, Stream stream) {
    paper_load<<<elementwise::blocks(stages.voxels.points()), elementwise::threads, 0, stream>>>(stages, image, by_unit,
                                                                                                 voxels_.data());
    check_launch("load an image to be rotated");
  }
  void rotate(const PaperStages& stages, bool by_unit, Stream stream) {
    const auto kernel = few_along_z(stages) ? paper_rotate<few_taps> : paper_rotate<RotationGaussian::most_taps>;
    kernel<<<elementwise::blocks(stages.between.points()), elementwise::threads, 0, stream>>>(stages, voxels_.data(),
                                                                                              by_unit, in_.data());
    check_launch("rotate an image");
  }
  void blur(const PaperStages& stages, PaperPass pass, Stream stream) {
    paper_blur<<<elementwise::blocks(stages.between.points()), elementwise::threads, 0, stream>>>(
        stages, pass, in_.data(), out_.data());
    check_launch("blur a rotated image");
    std::swap(in_, out_);
  }
  void rotate_back(const PaperStages& stages, bool by_unit, bool adds, float* voxels, Stream stream) {
    const auto kernel =
        few_along_z(stages) ? paper_rotate_back<few_taps> : paper_rotate_back<RotationGaussian::most_taps>;
    kernel<<<elementwise::blocks(stages.voxels.points()), elementwise::threads, 0, stream>>>(stages, in_.data(),
                                                                                             by_unit, adds, voxels);
    check_launch("rotate an image back");
  }

  std::vector<PaperStages> stages_;  // of all places
  Buffer<float> weights_;            // that they point to
  Buffer<int> first_;
  Buffer<float> voxels_, in_, out_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_paper_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                         const DirectSettings& settings) {
  return std::make_unique<CudaPaperTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
