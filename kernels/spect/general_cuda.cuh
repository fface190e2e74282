// What the kernels of the general rotation projector in CUDA share. It makes the rotated planes of a group of views in
// memory, attenuates them, and convolves them by one of the forms of the point spread (GeneralBlur); back in the other
// direction. Footprints are computed where they are needed (general_footprint.cuh).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/spect/plane_kernels.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

/// Voxels along z.
struct GeneralRows {
  double origin = 0, edge = 1;  // mm
  int size = 0;
};

/// Columns [begin, end) of a plane that have footprints: values[place * planes + k - first].
struct PlaneRanges {
  const int2* values = nullptr;
  __device__ int2 of(const ViewLattice& lattice, int place, int k) const {
    return values[place * (lattice.last - lattice.first + 1) + k - lattice.first];
  }
  /// The range of planes [begin, end) together; none: y is not above x.
  __device__ int2 of_all(const ViewLattice& lattice, int place, int begin, int end) const {
    int2 all{lattice.columns(), 0};
    for (int k = begin; k < end; ++k) {
      const int2 range = of(lattice, place, k);
      if (range.x >= range.y) continue;
      all.x = min(all.x, range.x);
      all.y = max(all.y, range.y);
    }
    return all;
  }
};
__device__ inline bool is_within(int column, int2 range) {
  return column >= range.x && column < range.y;
}

/// Planes in memory: values[((member * planes + k - first) * columns + c) * stride + row - first_row of the group].
/// What is beyond the lattice's columns and the group's rows is 0 in planes that the rotation makes.
struct GeneralPlanes {
  float* values = nullptr;
  int columns = 0, stride = 0;  // the stride is a multiple of four
  __device__ std::int64_t column(const ViewLattice& lattice, int member, int k, int c) const {
    return (std::int64_t{member} * (lattice.last - lattice.first + 1) + k - lattice.first) * columns + c;
  }
};

struct GeneralCamera {
  ViewLattice lattice;
  const LatticeView* looks = nullptr;  // of each place of the set
  ColumnGrid image, mu;
  Vec3d image_edges;  // of voxels, mm
  GeneralRows image_rows, mu_rows;
  bool interpolates_rows = true;  // the image at lattice points; else voxels are spread
  TOFSTREAM_HOST_DEVICE int planes() const { return lattice.last - lattice.first + 1; }
  TOFSTREAM_HOST_DEVICE int inner_columns() const { return lattice.nu * lattice.oversample; }
  TOFSTREAM_HOST_DEVICE int inner_rows() const { return lattice.nw * lattice.oversample; }
};

/// Members [first, first + count) of a pass, and what they share. Rows [first_row, first_row + rows) of the lattice are
/// those that the image reaches, or all.
struct GeneralGroup {
  DeviceViews views;
  int first = 0, count = 0;
  int first_row = 0, rows = 0;
  double radius_mm = 0;  // of all of them, where the blur asks for this
  Stream stream = nullptr;
};

/// Queues the ranges of all places of the set.
void queue_ranges(const GeneralCamera& camera, Footprint kind, int places, int2* ranges, Stream stream);

/// Queues planes = the image's columns (of rows, `from_stride` apart) at all lattice points.
void queue_rotate(const GeneralCamera& camera, Footprint kind, const GeneralGroup& group, const PlaneRanges& ranges,
                  const float* columns, int from_stride, const GeneralPlanes& planes);
/// Queues columns (+)= its transpose, or the paper's. `least`: of each member the size below which a number counts as
/// 0; null: none.
void queue_gather_planes(const GeneralCamera& camera, Footprint kind, const GeneralGroup& group,
                         const PlaneRanges& ranges, const GeneralPlanes& planes, const float* least, bool adds,
                         float* columns, int to_stride);

/// Queues the rows of planes from what lies along z at their points, in a cone, and the other way.
void queue_rows_from_z(const GeneralCamera& camera, const GeneralGroup& group, const PlaneRanges& ranges,
                       const GeneralPlanes& along_z, const GeneralPlanes& planes);
void queue_z_from_rows(const GeneralCamera& camera, bool interpolates, const GeneralGroup& group,
                       const PlaneRanges& ranges, const GeneralPlanes& planes, const float* least,
                       const GeneralPlanes& along_z);

/// Queues planes *= what is left of their photons, in the ranges. The map's columns are rows of the lattice, or voxels
/// along z in a cone.
void queue_general_attenuation(const GeneralCamera& camera, const GeneralGroup& group, const PlaneRanges& ranges,
                               const float* mu_columns, int mu_stride, const float* least, const GeneralPlanes& planes);

/// Numbers at the detector's points, [chunk][member][column][row]; the first one lies at (first_u, first_w).
struct DetectorPoints {
  float* values = nullptr;
  int columns = 0, stride = 0;
  int first_u = 0, first_w = 0;
  int chunks = 1;
  __host__ __device__ std::int64_t size() const { return std::int64_t{columns} * stride; }
};
/// Queues pixels[view][w][u] = scale times the sum of a pixel's points and chunks; points smaller than `least` of their
/// member (null: none) count as 0.
void queue_sum_points(const GeneralCamera& camera, const GeneralGroup& group, const DetectorPoints& points, float scale,
                      const float* least, float* pixels);
/// Queues points = scale times their pixels, 0 elsewhere.
void queue_spread_pixels(const GeneralCamera& camera, const GeneralGroup& group, const float* pixels, float scale,
                         const DetectorPoints& points);

/// One form of the point spread.
class GeneralBlur {
 public:
  virtual ~GeneralBlur() = default;
  /// How planes of so many rows must lie.
  virtual int columns() const = 0;
  virtual int stride(int rows) const = 0;
  /// Whether planes may leave out the rows that the image does not reach.
  virtual bool takes_part_of_rows() const { return true; }
  /// Whether views of a group must have one radius.
  virtual bool wants_one_radius() const { return false; }
  /// Floats that a view needs beside its planes.
  virtual std::int64_t floats_a_view() const = 0;
  /// Queues pixels = scale times the sum of the convolved planes, which it may change.
  virtual void forward(const GeneralGroup& group, const PlaneRanges& ranges, const GeneralPlanes& planes, float scale,
                       float* pixels) = 0;
  /// Queues planes = the transpose's, in the ranges. Returns the size below which a number of a member's counts as 0,
  /// on the device until the next call; null: none.
  virtual const float* back(const GeneralGroup& group, const PlaneRanges& ranges, const float* pixels, float scale,
                            const GeneralPlanes& planes) = 0;
};
std::unique_ptr<GeneralBlur> make_separable_cuda(const GeneralCamera& camera, const ViewSet& set,
                                                 const SpectSettings& settings);
std::unique_ptr<GeneralBlur> make_table_cuda(const GeneralCamera& camera, const ViewSet& set,
                                             const SpectSettings& settings);
std::unique_ptr<GeneralBlur> make_fft_cuda(const GeneralCamera& camera, const ViewSet& set,
                                           const SpectSettings& settings);

/// Planes whose sum is one of its own, for the sake of rounding.
inline constexpr int planes_a_sum = 16;
inline int plane_sums(const GeneralCamera& camera) {
  return (camera.planes() + planes_a_sum - 1) / planes_a_sum;
}

/// Device memory that grows; what was in it is lost.
class GrowingFloats {
 public:
  float* of(std::int64_t floats, Stream stream) {
    if (memory_.size() < floats) {
      memory_ = {};  // first, so that there is room
      memory_ = Buffer<float>(Memory::device, floats, stream);
    }
    return memory_.data();
  }

 private:
  Buffer<float> memory_;
};

/// Which radius each place of the set has: its number in radii_of().
inline Buffer<int> radius_numbers(const ViewSet& set) {
  const std::vector<double> radii = radii_of(set);
  std::vector<int> numbers;
  for (const ViewPlace& place : set.places)
    numbers.push_back(
        static_cast<int>(std::ranges::lower_bound(radii, static_cast<double>(place.radius_mm)) - radii.begin()));
  Buffer<int> result = Buffer<int>::from(numbers).to(Memory::device);
  synchronize(nullptr);  // the host's copy may go
  return result;
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
