// The lattice of an image: size, voxel edges and the centre of voxel 0 in the scanner frame; x
// fastest in memory. Its values belong to voxels or to blobs.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/math/vec3.hpp"

namespace tofstream {

/// A basis function that depends on the distance from its centre alone: a Kaiser-Bessel window of order 2, zero beyond
/// its radius, of which a larger alpha is the narrower (Lewitt, J Opt Soc Am A 7:1834, 1990; kernels/blob).
struct Blob {
  float radius_mm = 0;  // 0: no blob but a voxel
  float alpha = 0;
  friend constexpr bool operator==(const Blob&, const Blob&) = default;
};

/// A grid of voxels; or, where `blob` has a radius, of blobs on a body-centred cubic lattice (Matej and Lewitt, IEEE
/// Trans Med Imaging 15:68, 1996): two interleaved cubic lattices of `size` nodes, `voxel_mm` apart. The even lattice
/// is the grid moved by minus a quarter of an edge along each axis, the odd one by plus a quarter. In memory the even
/// blobs' coefficients come first, then the odd ones'. What reads an image as voxels checks its grid by validate().
struct Grid {
  int size[3] = {0, 0, 0};  // voxels along x, y, z
  Vec3 voxel_mm;            // edges of a voxel
  Vec3 origin_mm;           // centre of voxel (0, 0, 0)
  Blob blob = {};

  /// A grid whose centre is the origin of the scanner frame.
  TOFSTREAM_HOST_DEVICE static constexpr Grid centred(int nx, int ny, int nz, Vec3 voxel_mm) {
    return {{nx, ny, nz},
            voxel_mm,
            {-0.5f * static_cast<float>(nx - 1) * voxel_mm.x, -0.5f * static_cast<float>(ny - 1) * voxel_mm.y,
             -0.5f * static_cast<float>(nz - 1) * voxel_mm.z}};
  }
  TOFSTREAM_HOST_DEVICE constexpr bool has_blobs() const { return blob.radius_mm > 0; }
  /// Cubic lattices that the image's values lie on: two of blobs, or one of voxels.
  TOFSTREAM_HOST_DEVICE constexpr int lattices() const { return has_blobs() ? 2 : 1; }
  /// Values of the image: one a voxel, or one a blob of both lattices.
  TOFSTREAM_HOST_DEVICE constexpr std::int64_t voxels() const {
    return lattices() * (static_cast<std::int64_t>(size[0]) * size[1] * size[2]);
  }
  /// The lattice (0: even, 1: odd) as a grid of its own, whose values begin at lattice * lattice(0).voxels(). Voxels
  /// have one lattice, the grid itself.
  TOFSTREAM_HOST_DEVICE constexpr Grid lattice(int which) const {
    Grid result = *this;
    if (has_blobs()) result.origin_mm = origin_mm + (which == 0 ? -0.25f : 0.25f) * voxel_mm;
    result.blob = {};
    return result;
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
           a.origin_mm == b.origin_mm && a.blob == b.blob;
  }
};

/// Throws std::invalid_argument, naming the value, unless the grid is one of voxels, every size is in [1, 4096] and
/// every voxel edge finite and positive.
void validate(const Grid& grid);
/// As validate, but blobs are right too: they need a cubic lattice (to 1e-4), a radius of 0.5 to 8 edges and alpha in
/// [0.001, 500].
void validate_basis(const Grid& grid);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
