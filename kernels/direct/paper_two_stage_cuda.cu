// The published two stages on CUDA, a thread a point in each pass: see paper_two_stage.hpp. A view at a time.
#include <memory>
#include <utility>

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
  const float value = image ? image[j] : 1.0f;
  to[j] = by_unit ? value / stages.unit_of_voxel(j) : value;
}

__global__ void paper_rotate(PaperStages stages, const float* voxels, bool by_unit, float* between) {
  const std::int64_t p = elementwise::element();
  if (p >= stages.between.points()) return;
  const float sum = stages.rotation.gather(stages.voxels, voxels, stages.between.position(p));
  between[p] = by_unit ? sum / stages.unit_of_point(p) : sum;
}

__global__ void paper_rotate_back(PaperStages stages, const float* between, bool by_unit, bool adds, float* voxels) {
  const std::int64_t j = elementwise::element();
  if (j >= stages.voxels.points()) return;
  float sum = stages.rotation.gather(stages.between, between, stages.voxels.position(j));
  if (by_unit) sum /= stages.unit_of_voxel(j);
  voxels[j] = adds ? voxels[j] + sum : sum;
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
      : DirectProjector(grid, set, settings, Backend::cuda) {}

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override {
    require_views(views);
    for (int v = 0; v < views.views; ++v) {
      const PaperStages stages = take_view(views, v, stream);
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
      const PaperStages stages = take_view(views, v, stream);
      load(stages, values ? values + v * points() : nullptr, false, stream);
      rotate(stages, true, stream);
      for (const PaperPass pass : {PaperPass::axial, PaperPass::across_transposed, PaperPass::along})
        blur(stages, pass, stream);
      rotate_back(stages, true, true, image, stream);
    }
  }

 private:
  PaperStages take_view(const Views& views, int v, Stream stream) {
    const PaperSplit split(grid(), frame(views, v), settings().kernel, profiles());
    along_ = Buffer<float>::from(split.along()).to(Memory::device, stream);
    axial_ = Buffer<float>::from(split.axial()).to(Memory::device, stream);
    across_ = Buffer<float>::from(split.across()).to(Memory::device, stream);
    first_ = Buffer<int>::from(split.first()).to(Memory::device, stream);
    synchronize(stream);  // before the host's arrays go
    const PaperStages stages = split.stages(along_.data(), axial_.data(), across_.data(), first_.data());
    make_room(voxels_, Memory::device, grid().voxels(), stream);
    make_room(in_, Memory::device, stages.between.points(), stream);
    make_room(out_, Memory::device, stages.between.points(), stream);
    return stages;
  }
  void load(const PaperStages& stages, const float* image, bool by_unit, Stream stream) {
    paper_load<<<elementwise::blocks(stages.voxels.points()), elementwise::threads, 0, stream>>>(stages, image, by_unit,
                                                                                                 voxels_.data());
    check_launch("load an image to be rotated");
  }
  void rotate(const PaperStages& stages, bool by_unit, Stream stream) {
    paper_rotate<<<elementwise::blocks(stages.between.points()), elementwise::threads, 0, stream>>>(
        stages, voxels_.data(), by_unit, in_.data());
    check_launch("rotate an image");
  }
  void blur(const PaperStages& stages, PaperPass pass, Stream stream) {
    paper_blur<<<elementwise::blocks(stages.between.points()), elementwise::threads, 0, stream>>>(
        stages, pass, in_.data(), out_.data());
    check_launch("blur a rotated image");
    std::swap(in_, out_);
  }
  void rotate_back(const PaperStages& stages, bool by_unit, bool adds, float* voxels, Stream stream) {
    paper_rotate_back<<<elementwise::blocks(stages.voxels.points()), elementwise::threads, 0, stream>>>(
        stages, in_.data(), by_unit, adds, voxels);
    check_launch("rotate an image back");
  }

  Buffer<float> along_, axial_, across_, voxels_, in_, out_;
  Buffer<int> first_;
};

}  // namespace

std::unique_ptr<ViewProjector> make_paper_two_stage_cuda(const Grid& grid, const ViewSet& set,
                                                         const DirectSettings& settings) {
  return std::make_unique<CudaPaperTwoStage>(grid, set, settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
