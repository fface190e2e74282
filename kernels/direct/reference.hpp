// K_v in double precision, on one thread and by its definition (direct.hpp): the oracle of all operators, for small
// grids and either lattice.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/direct/direct_projector.hpp"
#include "kernels/project/double_precision.hpp"

namespace tofstream {

/// Where the reference's kernels end.
enum class ReferenceCut {
  none,       // at 9 sigma, beyond which a Gaussian is less than rounding
  ellipsoid,  // as one_stage cuts them: at kernel.cut_sigma, around the widest radial factor
};

class DirectReference final : public DirectProjector, public DoublePrecision<Views> {
 public:
  /// Throws std::invalid_argument as validate() does; settings.method does not matter otherwise.
  DirectReference(const Grid& grid, const ViewSet& set, const DirectSettings& settings,
                  ReferenceCut cut = ReferenceCut::none);

  std::vector<double> forward(const Views& views, std::span<const double> image) const override;
  std::vector<double> back(const Views& views, std::span<const double> values) const override;

  void forward(const Views& views, const float* image, float* expectation, Stream stream) override;
  void back(const Views& views, const float* values, float* image, Stream stream) override;

  /// Half axes in mm of what holds a kernel, along t, s and z'.
  Vec3d reach_mm() const { return reach_mm_; }

 private:
  using Visit = std::function<void(std::int64_t point, double weight)>;
  /// Calls visit for each K_v[p, j] of voxel j that is not 0.
  void for_each_point(const ViewFrame& frame, const DirectLattice& lattice, Vec3d voxel_mm, const Visit& visit) const;
  bool holds(double t, double s, double z) const;

  ReferenceCut cut_;
  Vec3d reach_mm_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
