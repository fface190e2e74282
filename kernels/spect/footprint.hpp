// Which voxels a lattice point of a view is made of, and with what weights: A and A^T of a projector read the same
// ones. Across the axis a footprint is a list of columns of voxels along z; along z it is a list of pairs of row and
// voxel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/spect/lattice.hpp"

namespace tofstream {

/// The at most two samples in [0, size) around a position, with linear interpolation's weights.
struct SamplePair {
  int count = 0;
  int sample[2] = {};
  double weight[2] = {};

  TOFSTREAM_HOST_DEVICE SamplePair(double position, int size) {
    const double at = snapped(position), below = std::floor(at);
    for (int i = 0; i < 2; ++i) {
      const double here = below + i, share = 1 - std::abs(at - here);
      if (!(share > 0 && here >= 0 && here < size)) continue;
      sample[count] = static_cast<int>(here);
      weight[count++] = share;
    }
  }
};

/// A column of voxels, number y * nx + x, with its weight.
struct ColumnTap {
  std::int32_t column = 0;
  float weight = 0;
};

/// Whose interpolation makes the weights.
enum class Footprint {
  interpolating,  // the image's, at the lattice's points
  conserving,     // the lattice's, at the voxels, with a converging beam's gain
  paper_back,     // the same without the gain
};

/// The footprints of all lattice points of a view, across the axis.
class ViewTaps {
 public:
  /// The footprints on planes from `first` on; `support`: 1 where a column of the image counts.
  ViewTaps(const ViewLattice& lattice, const LatticeView& view, const Grid& grid, const std::vector<char>& support,
           Footprint kind, int first);

  /// Lattice columns [begin, end) of a plane have footprints, and points are numbered through from `first_point` on.
  struct Plane {
    int begin = 0, end = 0;
    std::int64_t first_point = 0;
  };
  const Plane& plane(int plane) const { return planes_[static_cast<std::size_t>(plane)]; }
  std::int64_t points() const { return points_; }
  std::span<const ColumnTap> at(std::int64_t point) const {
    const auto begin = static_cast<std::size_t>(begins_[static_cast<std::size_t>(point)]);
    return {taps_.data() + begin, static_cast<std::size_t>(begins_[static_cast<std::size_t>(point) + 1]) - begin};
  }

 private:
  void interpolate(const ViewLattice& lattice, const LatticeView& view, const Grid& grid,
                   const std::vector<char>& support, int first);
  void spread(const ViewLattice& lattice, const LatticeView& view, const Grid& grid, const std::vector<char>& support,
              bool with_gain, int first);

  std::vector<Plane> planes_;
  std::int64_t points_ = 0;
  std::vector<std::int32_t> begins_;  // of each point's taps, and the end
  std::vector<ColumnTap> taps_;
};

/// A row of the lattice and a voxel along z.
struct RowTap {
  std::int32_t row = 0, z = 0;
  float weight = 0;
};
/// Those of a plane, of which only a cone beam's differ.
std::vector<RowTap> row_taps(const ViewLattice& lattice, const LatticeView& view, int plane, const Grid& grid,
                             Footprint kind);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
