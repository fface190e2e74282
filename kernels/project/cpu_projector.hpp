// The CPU projectors' common part: oneTBB over ranges of events, slot images for back projection. A
// family brings a CpuKernel that treats one range on one thread, compiled for each instruction set.
#pragma once

#include <memory>

#include "kernels/project/accumulate.hpp"
#include "kernels/project/list_mode_projector.hpp"

namespace tofstream {

/// Projects events on the calling thread; several threads use one kernel at the same time.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual void forward(const EventView& events, const float* image, float* expectation) const = 0;
  /// `values` null stands for ones.
  virtual void back(const EventView& events, const float* values, float* image) const = 0;
  virtual EmTally em_step(const EventView& events, const float* image, float* accumulator) const = 0;
};

struct CpuProjectorSettings {
  float reach_mm = 0;             // what reach_mm() says
  bool deterministic = false;     // the same bits on any number of threads
  std::int64_t image_floats = 0;  // length of the images it is given, where the kernel reads them in a layout of its
                                  // own; 0 stands for the grid's voxels
};

/// A projector over a kernel. Its scratch images make it stateful: one call at a time. The same events on the same
/// number of threads give the same image, bit for bit.
class CpuProjector final : public ListModeProjector {
 public:
  /// Throws std::invalid_argument for an invalid grid.
  CpuProjector(const Grid& grid, std::unique_ptr<const CpuKernel> kernel, const CpuProjectorSettings& settings);

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cpu; }
  float reach_mm() const override { return reach_mm_; }
  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override;
  void back(const EventView& events, const float* values, float* image, Stream stream) override;
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override;

 private:
  Grid grid_;
  std::unique_ptr<const CpuKernel> kernel_;
  float reach_mm_;
  SlotImages slots_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
