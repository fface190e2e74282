// The lattice of an image: size, voxel edges and the centre of voxel 0 in the scanner frame; x
// fastest in memory.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

struct Grid {
  int size[3] = {0, 0, 0};  // voxels along x, y, z
  Vec3 voxel_mm;            // edges of a voxel
  Vec3 origin_mm;           // centre of voxel (0, 0, 0)

  /// A grid whose centre is the origin of the scanner frame.
  TOFSTREAM_HOST_DEVICE static constexpr Grid centred(int nx, int ny, int nz, Vec3 voxel_mm) {
    return {{nx, ny, nz},
            voxel_mm,
            {-0.5f * static_cast<float>(nx - 1) * voxel_mm.x, -0.5f * static_cast<float>(ny - 1) * voxel_mm.y,
             -0.5f * static_cast<float>(nz - 1) * voxel_mm.z}};
  }
  TOFSTREAM_HOST_DEVICE constexpr std::int64_t voxels() const {
    return static_cast<std::int64_t>(size[0]) * size[1] * size[2];
  }
  /// Distance in memory between neighbours along an axis.
  TOFSTREAM_HOST_DEVICE constexpr std::int64_t stride(int axis) const {
    return axis == 0 ? 1 : (axis == 1 ? size[0] : static_cast<std::int64_t>(size[0]) * size[1]);
  }
  TOFSTREAM_HOST_DEVICE constexpr std::int64_t index(int i, int j, int k) const {
    return i + stride(1) * j + stride(2) * k;
  }
  /// Centre of voxel (i, j, k) in mm.
  TOFSTREAM_HOST_DEVICE constexpr Vec3 centre(int i, int j, int k) const {
    return {origin_mm.x + static_cast<float>(i) * voxel_mm.x, origin_mm.y + static_cast<float>(j) * voxel_mm.y,
            origin_mm.z + static_cast<float>(k) * voxel_mm.z};
  }
  /// Volume of a voxel in mm^3.
  TOFSTREAM_HOST_DEVICE constexpr float voxel_volume() const { return voxel_mm.x * voxel_mm.y * voxel_mm.z; }
  friend constexpr bool operator==(const Grid& a, const Grid& b) {
    return a.size[0] == b.size[0] && a.size[1] == b.size[1] && a.size[2] == b.size[2] && a.voxel_mm == b.voxel_mm &&
           a.origin_mm == b.origin_mm;
  }
};

/// Throws std::invalid_argument, naming the value, unless every size is in [1, 4096] and every
/// voxel edge finite and positive.
void validate(const Grid& grid);

}  // namespace tofstream
