// What the kernels of the rotation projector in CUDA share: the lattice, the images in columns along z, the footprints of
// all lattice points, the point spread of each plane.
#pragma once

#include <cstdint>

#include <vector_types.h>

#include "kernels/memory/memory.hpp"
#include "kernels/spect/footprint.hpp"
#include "kernels/spect/lattice.hpp"

namespace tofstream::spect {

TOFSTREAM_HOST_DEVICE inline int rounded_to_four(int size) {
  return (size + 3) / 4 * 4;
}

/// Columns of voxels (x, y) of a grid, with an empty column on every side, so that each point has four about it:
/// values[column(x, y) * stride + row], 0 where there is no image.
struct ColumnGrid {
  int nx = 0, ny = 0;
  double origin_x = 0, origin_y = 0, per_x = 1, per_y = 1;
  const char* support = nullptr;  // null: everywhere

  TOFSTREAM_HOST_DEVICE int width() const { return nx + 2; }
  TOFSTREAM_HOST_DEVICE int columns() const { return width() * (ny + 2); }
  TOFSTREAM_HOST_DEVICE int column(int x, int y) const { return (y + 1) * width() + x + 1; }
  TOFSTREAM_HOST_DEVICE bool has_image(int x, int y) const {
    return x >= 0 && y >= 0 && x < nx && y < ny && (!support || support[y * nx + x]);
  }
  /// Where a point (mm) lies, in voxels.
  TOFSTREAM_HOST_DEVICE double x_of(double x_mm) const { return (x_mm - origin_x) * per_x; }
  TOFSTREAM_HOST_DEVICE double y_of(double y_mm) const { return (y_mm - origin_y) * per_y; }
};

inline constexpr int taps_a_block = 8;

/// Kernels of all planes at each radius, [radius * planes + k], in whole blocks of `taps_a_block` weights, the rest 0:
/// `u` from the column -reach on, `w` from the row -reach, rounded to four rows, on.
struct DeviceKernels {
  const float *u = nullptr, *w = nullptr;
  const short *reach_u = nullptr, *reach_w = nullptr;
  const int* radius_of = nullptr;  // of each place of the set
  int length = taps_a_block;       // weights of a kernel
  int widest_u = 0, widest_w = 0;  // the widest reaches
  TOFSTREAM_HOST_DEVICE bool blur() const { return widest_u > 0 || widest_w > 0; }
};

/// The footprint of each lattice point on a grid of columns: of the four columns about it the one before it along x and y,
/// and how far beyond that one it lies, in voxels; -1 and 0 where it meets no image. [place][plane - first][column].
struct DeviceTaps {
  std::int32_t* base = nullptr;
  float2* beyond = nullptr;
  int2* range = nullptr;  // columns [x, y) of [place][plane - first] that meet the image; null: not known
  int first = 0;          // plane

  __device__ std::int64_t plane(const ViewLattice& lattice, int place, int k) const {
    return static_cast<std::int64_t>(place) * (lattice.last - first + 1) + k - first;
  }
};

/// Rows are counted from the lattice's row `first_row`, the first that the image reaches.
struct DeviceCamera {
  ViewLattice lattice;
  const LatticeView* looks = nullptr;  // of each place of the set
  ColumnGrid image, mu;
  DeviceTaps taps, mu_taps;
  DeviceKernels kernels;
  const float* mu_columns = nullptr;     // 1/mm; null: no attenuation
  int first_row = 0, rows = 0;           // that the image reaches
  int stride = 0;                        // rows, rounded up to four
  double least_scale_u = 1;              // of the beam in the image's planes
  int reached_from = 0, reached_to = 0;  // columns of the lattice that any view's planes meet the image in

  TOFSTREAM_HOST_DEVICE int columns_of_points() const { return lattice.nu * lattice.oversample; }
  TOFSTREAM_HOST_DEVICE int rows_of_points() const { return lattice.nw * lattice.oversample; }
  /// The detector's first row of points.
  TOFSTREAM_HOST_DEVICE int first_point_row() const { return lattice.margin_w - first_row; }
};

/// The views of a pass: member i is view members[i] of the batch (null: i), which is place index[...] of the set.
struct DeviceViews {
  int count = 0;
  const std::int32_t* members = nullptr;
  const std::int32_t* index = nullptr;
  __device__ int view(int member) const { return members ? members[member] : member; }
};

/// Numbers at the lattice points of some members' planes: values[((member * planes + k - first) * columns + c) * stride +
/// row], or of one plane that stands for all.
struct PlaneVolume {
  float* values = nullptr;
  int planes = 1;
  __device__ std::int64_t column(const ViewLattice& lattice, int member, int k, int c) const {
    const int plane = planes == 1 ? 0 : k - lattice.first;
    return (static_cast<std::int64_t>(member) * planes + plane) * lattice.columns() + c;
  }
};
/// Planes that back projection writes: one where nothing tells them apart.
int volume_planes(const DeviceCamera& camera);

/// Queues the footprints of all places of the set, of planes [taps.first, lattice.last], on a grid.
void queue_taps(const DeviceCamera& camera, const ColumnGrid& grid, int places, const DeviceTaps& taps, Stream stream);

/// Queues volume = what is left of the photons of each lattice point of members [first, first + count).
void queue_attenuation(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                       const PlaneVolume& volume, Stream stream);

/// In how many chunks the planes of so many views are projected.
int chunks_of(const DeviceCamera& camera, int views);
/// Queues the sum of rotated, attenuated and blurred planes of members [first, first + count), times `scale`, at the
/// lattice's points on the detector, for each chunk of planes: points[chunk][member - first][w][u].
void queue_forward(const DeviceCamera& camera, const DeviceViews& views, int first, int count, int chunks,
                   const PlaneVolume& attenuation, const float* columns, float scale, float* points, Stream stream);
/// Queues pixels[view][w][u] = the sum of a pixel's points, and of its chunks, for these members.
void queue_add_points(const DeviceCamera& camera, const DeviceViews& views, int first, int count, int chunks,
                      const float* points, float* pixels, Stream stream);

/// Queues its transpose for members [first, first + count): what each lattice point that meets the image gets. With
/// attenuation the volume holds before what is left of its photons.
void queue_back_planes(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const float* pixels,
                       float scale, const PlaneVolume& volume, Stream stream);

/// Queues columns (+)= what the lattice points of these members give to each voxel; `adds`: to what is there.
void queue_gather(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const PlaneVolume& volume,
                  bool adds, float* columns, Stream stream);

/// Which voxels along z a row is made of, or which rows a voxel: entry e of item i is of[e], for e in [begin[i],
/// begin[i + 1]).
struct DeviceRows {
  const std::int32_t *begin = nullptr, *of = nullptr;
  const float* weight = nullptr;
};
/// Queues columns[column][row] = the image's values along z at the rows; rows beyond `row_count` are 0.
void queue_to_columns(const DeviceRows& rows, int row_count, const ColumnGrid& grid, int stride, const float* image,
                      float* columns, Stream stream);
/// Queues image += its transpose, `voxels`: the rows of each voxel along z.
void queue_from_columns(const DeviceRows& voxels, int z_count, const ColumnGrid& grid, int stride, const float* columns,
                        float* image, Stream stream);

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
