// The density of blobs at a point, shared by the CPU and CUDA: see blob_to_voxels.hpp.
#pragma once

#include <cmath>

#include "kernels/memory/memory.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::detail {

/// What a sum reads: both lattices and the table of the profile over [0, radius].
struct BlobSum {
  static constexpr int samples = 2049;
  Grid lattice[2];
  float radius_mm = 0;
  const float* table = nullptr;

  /// The density at a point (mm); `coefficients`: those of the even lattice, then those of the odd one.
  TOFSTREAM_HOST_DEVICE float at(const float* coefficients, Vec3 point) const {
    float sum = 0;
    for (const Grid& grid : lattice) {
      sum += of_lattice(grid, coefficients, point);
      coefficients += grid.voxels();
    }
    return sum;
  }

 private:
  struct Nodes {
    int first, last;
  };
  /// Nodes along an axis within `reach` of the point.
  TOFSTREAM_HOST_DEVICE static Nodes nodes(const Grid& grid, Vec3 point, int axis, float reach) {
    const float place = point[axis] - grid.origin_mm[axis], edge = grid.voxel_mm[axis];
    const float first = std::ceil((place - reach) / edge), last = std::floor((place + reach) / edge);
    const auto highest = static_cast<float>(grid.size[axis] - 1);
    // As floats first: far outside the lattice they would not fit an int.
    return {static_cast<int>(std::fmin(std::fmax(first, 0.0f), highest + 1)),
            static_cast<int>(std::fmin(std::fmax(last, -1.0f), highest))};
  }
  TOFSTREAM_HOST_DEVICE float profile(float r2) const {
    const float place = std::sqrt(r2) / radius_mm * static_cast<float>(samples - 1);
    const float left = std::fmin(std::floor(place), static_cast<float>(samples - 2));
    const float* sample = table + static_cast<int>(left);
    return sample[0] + (place - left) * (sample[1] - sample[0]);
  }
  TOFSTREAM_HOST_DEVICE float of_lattice(const Grid& grid, const float* coefficients, Vec3 point) const {
    const float radius2 = radius_mm * radius_mm;
    const Nodes z = nodes(grid, point, 2, radius_mm), y = nodes(grid, point, 1, radius_mm);
    float sum = 0;
    for (int k = z.first; k <= z.last; ++k)
      for (int j = y.first; j <= y.last; ++j) {
        const Vec3 row = grid.centre(0, j, k) - point;
        const float across2 = row.y * row.y + row.z * row.z;
        if (across2 >= radius2) continue;
        const Nodes x = nodes(grid, point, 0, std::sqrt(radius2 - across2));
        for (int i = x.first; i <= x.last; ++i) {
          const float along = row.x + static_cast<float>(i) * grid.voxel_mm.x;
          const float r2 = along * along + across2;
          if (r2 < radius2) sum += coefficients[grid.index(i, j, k)] * profile(r2);
        }
      }
    return sum;
  }
};

/// voxels[v] = density at the centre of voxel v.
void sample_blobs_cuda(const BlobSum& sum, const float* coefficients, const Grid& grid, float* voxels, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
