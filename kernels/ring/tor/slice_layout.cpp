// Packing of images into padded slices: see slice_layout.hpp.
#include "kernels/ring/tor/slice_layout.hpp"

#include <algorithm>

#include <tbb/parallel_for.h>

namespace tofstream::tor {

SliceLayout::SliceLayout(const Grid& grid) : grid_(grid) {
  const auto [nx, ny, nz] = grid.size;
  const std::int64_t row = nx + padding;              // of the first copy
  const std::int64_t plane = row * (ny + padding);    //
  const std::int64_t base = plane * (nz + padding);   // where the second copy begins
  const std::int64_t turned_row = ny + padding;       // of the second copy
  const std::int64_t turned_plane = turned_row * nx;  //
  slices_[0] = {base, turned_row, turned_plane, nz, ny};
  slices_[1] = {0, row, plane, nz, nx};
  slices_[2] = {0, plane, row, ny, nx};
  size_ = base + turned_plane * (nz + padding);
}

template <class Visit>
void SliceLayout::for_each_voxel(Visit&& visit) const {
  const int nx = grid_.size[0], ny = grid_.size[1], nz = grid_.size[2];
  constexpr int block = 32;  // columns and rows of both copies then stay in the cache
  tbb::parallel_for(0, nz, [&](int z) {
    for (int y_block = 0; y_block < ny; y_block += block)
      for (int x_block = 0; x_block < nx; x_block += block)
        for (int y = y_block; y < std::min(y_block + block, ny); ++y)
          for (int x = x_block; x < std::min(x_block + block, nx); ++x)
            visit(grid_.index(x, y, z), z * slices_[2].slice_stride + y * slices_[2].row_stride + x,
                  slices_[0].base + z * slices_[0].row_stride + x * slices_[0].slice_stride + y);
  });
}

void SliceLayout::pack(const float* image, float* packed) const {
  for_each_voxel([=](std::int64_t voxel, std::int64_t first, std::int64_t second) {
    packed[first] = packed[second] = image[voxel];
  });
}

void SliceLayout::unpack_add(float* packed, float* image) const {
  for_each_voxel([=](std::int64_t voxel, std::int64_t first, std::int64_t second) {
    image[voxel] += packed[first] + packed[second];
  });
  std::fill_n(packed, size_, 0.0f);
}

}  // namespace tofstream::tor
// SPDX-License-Identifier: Apache-2.0
