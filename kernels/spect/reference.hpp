// The rotation projector in double precision, on one thread and by its definition (spect.hpp): the oracle of all
// others.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "kernels/project/double_precision.hpp"
#include "kernels/spect/lattice.hpp"
#include "kernels/spect/plane_kernels.hpp"

namespace tofstream {

class RotationReference final : public ViewProjector, public DoublePrecision<Views> {
 public:
  /// Throws std::invalid_argument as validate() does.
  RotationReference(const Grid& grid, const ViewSet& set, const SpectSettings& settings);

  std::vector<double> forward(const Views& views, std::span<const double> image) const override;
  std::vector<double> back(const Views& views, std::span<const double> values) const override;

  const Grid& grid() const override { return grid_; }
  Backend backend() const override { return Backend::cpu; }
  void forward(const Views& views, const float* image, float* expectation, Stream stream) override;
  void back(const Views& views, const float* values, float* image, Stream stream) override;
  EmTally em_step(const Views& views, const float* image, float* accumulator, Stream stream) override;
  void add_sensitivity(const Views& views, float* image, Stream stream) override;
  Image support() const override;

 private:
  /// A number for each point of the lattice, [plane][column][row].
  using Volume = std::vector<double>;
  using Visit = std::function<void(std::size_t voxel, std::size_t point, double weight)>;

  std::size_t point(int plane, int column, int row) const;
  Volume zero_volume() const;
  /// Calls visit for each element of T_v M that is not 0.
  void for_each_weight(const LatticeView& view, const Visit& visit) const;
  void interpolate_at_points(const Grid& grid, const std::vector<char>& support, const LatticeView& view, int first,
                             const Visit& visit) const;
  void spread_voxels(const LatticeView& view, bool with_gain, const Visit& visit) const;
  /// B_v: of each point, the share of photons that leave.
  Volume transmission(const LatticeView& view) const;
  std::vector<double> project(const LatticeView& view, std::span<const double> image) const;
  void back_project(const LatticeView& view, std::span<const double> pixels, std::vector<double>& image) const;
  void convolve(const LatticeView& view, const Volume& planes, std::vector<double>& detector) const;
  Volume convolve_transposed(const LatticeView& view, const std::vector<double>& detector) const;
  LatticeView view_of(const Views& views, int view) const;

  Grid grid_;
  ViewSet set_;
  SpectSettings settings_;
  ViewLattice lattice_;
  std::vector<char> support_;
  std::map<double, std::vector<PlaneKernel>> kernels_;  // by radius
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
