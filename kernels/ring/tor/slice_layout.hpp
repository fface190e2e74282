// An image as the CPU's TOR projector reads it: the columns of every slice are contiguous in memory
// and padded, so that a tile of voxels that begins inside a slice needs no check of bounds.
#pragma once

#include <cstdint>

#include "kernels/ring/tor/tube.hpp"

namespace tofstream::tor {

/// Two copies of the image side by side: [z][y][x] for slices across y and z, [z][x][y] for slices
/// across x.
class SliceLayout {
 public:
  static constexpr int padding = 3;  // tiles have at most 4 columns and 4 rows

  /// Where the voxels of a slice lie: voxel (slice, row, column) is at base + slice * slice_stride
  /// + row * row_stride + column.
  struct Slices {
    std::int64_t base, slice_stride, row_stride;
    int rows, columns;
  };

  explicit SliceLayout(const Grid& grid);
  /// Floats of both copies.
  std::int64_t size() const { return size_; }
  const Slices& slices(int axis) const { return slices_[axis]; }

  /// Writes the image's voxels into both copies; padding is left alone.
  void pack(const float* image, float* packed) const;
  /// image += the sum of both copies, which are zero afterwards, padding included.
  void unpack_add(float* packed, float* image) const;

 private:
  /// visit(voxel, place in the first copy, place in the second copy) for all voxels, in parallel
  /// over planes.
  template <class Visit>
  void for_each_voxel(Visit&& visit) const;

  Grid grid_;
  Slices slices_[3];
  std::int64_t size_ = 0;
};

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
