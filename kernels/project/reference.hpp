// The reference projectors' common part: forward, back and EM step in double precision on one
// thread, over a family's one function 'for each (voxel, weight) of event i'.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/project/double_precision.hpp"
#include "kernels/project/list_mode_projector.hpp"

namespace tofstream {

class ReferenceProjector : public ListModeProjector, public DoublePrecision<EventView> {
 public:
  /// Throws std::invalid_argument for an invalid grid.
  explicit ReferenceProjector(const Grid& grid);

  using Visit = std::function<void(std::int64_t voxel, double weight)>;
  /// Calls visit(voxel, a_ij) for every voxel j that event i touches; a voxel may come several
  /// times, its weights then add up.
  virtual void for_each_voxel(const EventView& events, std::int64_t i, const Visit& visit) const = 0;

  std::vector<double> forward(const EventView& events, std::span<const double> image) const override;
  /// `values` empty stands for ones.
  std::vector<double> back(const EventView& events, std::span<const double> values) const override;

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cpu; }
  void forward(const EventView& events, const float* image, float* expectation, Stream stream = nullptr) override;
  void back(const EventView& events, const float* values, float* image, Stream stream = nullptr) override;
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream = nullptr) override;

 private:
  double line_sum(const EventView& events, std::int64_t i, std::span<const double> image) const;
  void add_line(const EventView& events, std::int64_t i, double value, std::vector<double>& image) const;

  Grid grid_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
