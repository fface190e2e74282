// Line integrals by Joseph's projector: see line_integrals.hpp.
#include "kernels/ring/joseph/line_integrals.hpp"

#include <utility>

#include "kernels/memory/refuse.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/joseph/joseph_backends.hpp"

namespace tofstream {

namespace {

class Projected final : public LineIntegrals {
 public:
  Projected(std::unique_ptr<ListModeProjector> projector, Buffer<float> image)
      : projector_(std::move(projector)), image_(std::move(image)) {}

  Backend backend() const override { return projector_->backend(); }
  void along(EventView events, float* integrals, Stream stream) const override {
    events.tof_mm = events.tof_width_mm = nullptr;
    projector_->forward(events, image_.data(), integrals, stream);
  }

 private:
  std::unique_ptr<ListModeProjector> projector_;
  Buffer<float> image_;
};

}  // namespace

std::unique_ptr<const LineIntegrals> make_line_integrals(const Image& image, Backend backend) {
  // In larger images the voxels with their neighbours would take more memory than they are worth.
  constexpr std::int64_t most_voxels = std::int64_t{1} << 23;
  if (backend == Backend::cuda && image.grid.voxels() <= most_voxels) {
    validate(image.grid);
    require_cuda();
    try {
      return make_quad_integrals(image);
    } catch (const OutOfMemory&) {  // the image alone may fit
    }
  }
  auto projector = make_joseph_projector(image.grid, {}, backend);
  Buffer<float> voxels = image.voxels.to(memory_of(backend));
  synchronize(nullptr);
  return std::make_unique<const Projected>(std::move(projector), std::move(voxels));
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<const LineIntegrals> make_quad_integrals(const Image&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
