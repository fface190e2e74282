// What the kernels of the rotation projector in CUDA share: the lattice, the images in columns along z, the point spread
// of each plane.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "kernels/memory/memory.hpp"
#include "kernels/spect/footprint.hpp"
#include "kernels/spect/lattice.hpp"

namespace tofstream::spect {

/// Columns of voxels (x, y), row after row, of a grid; values[(y * nx + x) * stride + row], 0 where there is no image.
struct ColumnGrid {
  int nx = 0, ny = 0;
  double origin_x = 0, origin_y = 0, per_x = 1, per_y = 1;
  const char* support = nullptr;  // null: everywhere

  /// Where a point (mm) lies, in voxels.
  TOFSTREAM_HOST_DEVICE double x_of(double x_mm) const { return (x_mm - origin_x) * per_x; }
  TOFSTREAM_HOST_DEVICE double y_of(double y_mm) const { return (y_mm - origin_y) * per_y; }
};

/// Half kernels of all planes at each radius: u[(radius * planes + k) * length + i], zeros beyond their reach.
struct DeviceKernels {
  const float *u = nullptr, *w = nullptr;
  const short *reach_u = nullptr, *reach_w = nullptr;  // [radius * planes + k]
  const int* radius_of = nullptr;                      // of each place of the set
  int length = 1;                                      // the widest reach, and 1
};

/// The four columns of voxels around each lattice point: `base` and those beside it along x, along y and along both,
/// with weights as ViewTaps has them; all 0 where a point meets no image. [member][plane - first][column].
struct DeviceTaps {
  const std::int32_t* base = nullptr;
  const float4* weight = nullptr;
  const int2* range = nullptr;  // columns [x, y) of [member][plane - first] that meet the image; null: not known
  int first = 0;                // plane
};

struct DeviceCamera {
  ViewLattice lattice;
  const LatticeView* looks = nullptr;  // of each place of the set
  int stride = 0;                      // rows of the lattice, padded
  ColumnGrid image, mu;
  const float* mu_columns = nullptr;  // 1/mm; null: no attenuation
  DeviceKernels kernels;
};

/// The views of a pass: member i is view members[i] of the batch (null: i), which is place index[...] of the set.
struct DeviceViews {
  int count = 0;
  const std::int32_t* members = nullptr;
  const std::int32_t* index = nullptr;
  __device__ int view(int member) const { return members ? members[member] : member; }
};

/// Queues the taps of members [first, first + count) and of planes [plane, lattice.last] on a grid. `range` may be null.
void queue_taps(const DeviceCamera& camera, const ColumnGrid& grid, const DeviceViews& views, int first, int count,
                int plane, std::int32_t* base, float4* weight, int2* range, Stream stream);

/// In how many chunks the planes of so many views are projected, so that a GPU is busy with few views too.
int chunks_of(const DeviceCamera& camera, int views);
/// Queues the sum of rotated, attenuated and blurred planes of members [first, first + count), times `scale`, at the
/// lattice's points on the detector: points[chunk][member][w][u] for each of chunks_of(camera, views.count).
void queue_forward(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const DeviceTaps& taps,
                   const DeviceTaps& mu_taps, const float* columns, float scale, float* points, Stream stream);
/// Queues pixels[view][w][u] = the sum of a pixel's points, and of its chunks.
void queue_add_points(const ViewLattice& lattice, const DeviceViews& views, int chunks, const float* points,
                      float* pixels, Stream stream);

/// Queues its transpose for members [first, first + count): what each lattice point gets, in planes[member][k][c][row].
/// `pixels` null stands for ones.
void queue_back_planes(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                       const DeviceTaps& taps, const DeviceTaps& mu_taps, const float* pixels, float scale,
                       float* planes, Stream stream);

/// Queues columns += what the lattice points of these members give to each voxel.
void queue_gather(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const DeviceTaps& taps,
                  const float* planes, float* columns, Stream stream);

/// Which voxels along z a row is made of, or which rows a voxel: entry e of item i is of[e], for e in [begin[i],
/// begin[i + 1]).
struct DeviceRows {
  const std::int32_t *begin = nullptr, *of = nullptr;
  const float* weight = nullptr;
};
/// Queues columns[column][row] = the image's values along z at the rows; rows beyond `rows` are 0.
void queue_to_columns(const DeviceRows& rows, int row_count, const ColumnGrid& grid, int stride, const float* image,
                      float* columns, Stream stream);
/// Queues image += its transpose, `voxels`: the rows of each voxel along z.
void queue_from_columns(const DeviceRows& voxels, int z_count, const ColumnGrid& grid, int stride, const float* columns,
                        float* image, Stream stream);

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
