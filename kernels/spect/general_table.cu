// A point spread from a table, by direct summation in tiles of shared memory: see general_cuda.cuh. A lane has a
// column of the tile and a thread 16 of its rows, whose sums stay in registers: 16 multiplications for each weight
// that is read.
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_pipeline.h>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

constexpr int thread_rows = 16;
constexpr int most_tile_warps = 10;  // each has rows of its own
constexpr int most_taps_at_once = 16;
constexpr int planes_held = 2;  // by a block that projects: one is copied while the other is convolved

/// Kernels of all planes at each radius, as A correlates planes with them (`forward`) and A^T the detector (`back`):
/// weights[((radius * planes + k) * across + i) * along + j], rows of zeros after the kernel's own.
struct TableKernels {
  const float *forward = nullptr, *back = nullptr;
  const int* radius_of = nullptr;  // of each place
  int across = 1, along = 4;       // along: a multiple of the taps at once
  int reach_u = 0, reach_w = 0;

  __device__ std::int64_t plane(const ViewLattice& lattice, int place, int k) const {
    return (std::int64_t{radius_of[place]} * lattice.planes + k) * across * along;
  }
};

/// What a block holds: the columns and rows that its outputs are made of.
struct CorrelationTile {
  int warps, columns, stride;  // of columns: 4 more than a multiple of 8, so that eight lanes meet all banks

  __host__ __device__ CorrelationTile(const TableKernels& kernels, int warps_a_block)
      : warps(warps_a_block),
        columns(warp_lanes + kernels.across - 1),
        stride((warps_a_block * thread_rows + kernels.along + 7) / 8 * 8 + 4) {}
  __host__ __device__ int rows() const { return warps * thread_rows; }
  __host__ __device__ int floats() const { return columns * stride; }
};

/// What tiles are filled with: values[column * stride + row].
struct TileSource {
  const float* values;
  int stride;
  int2 columns, rows;  // [x, y) of what is not 0
};

/// Begins to copy tile[c][r] = the source at column first_column + c, row first_row + r: each thread waits for its copies,
/// then the block must be synchronized.
__device__ void begin_tile(const CorrelationTile& tile, const TileSource& source, int first_column, int first_row,
                           float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  for (int c = static_cast<int>(threadIdx.x) / warp_lanes; c < tile.columns; c += tile.warps) {
    const int column = first_column + c;
    const bool is_in = is_within(column, source.columns);
    const float* const from = source.values + (is_in ? std::int64_t{column} * source.stride : 0);
    for (int r = lane; r < tile.stride; r += warp_lanes) {
      const int row = first_row + r;
      const bool has_value = is_in && is_within(row, source.rows);
      __pipeline_memcpy_async(shared + c * tile.stride + r, from + (has_value ? row : 0), sizeof(float),
                              has_value ? 0 : sizeof(float));
    }
  }
  __pipeline_commit();
}

/// The sums of a thread's rows over a kernel, from its first column and row in the tile on.
template <int taps>
__device__ void correlate(const float* from, int tile_stride, const float* weights, int across, int along,
                          float (&sums)[thread_rows]) {
#pragma unroll
  for (float& sum : sums) sum = 0;
  for (int i = 0; i < across; ++i, from += tile_stride)
    for (int begin = 0; begin < along; begin += taps, weights += taps) {
      float window[thread_rows + taps];
#pragma unroll
      for (int r = 0; r < thread_rows + taps; r += 4) {
        const float4 four = four_at(from + begin, r);
        window[r] = four.x;
        window[r + 1] = four.y;
        window[r + 2] = four.z;
        window[r + 3] = four.w;
      }
#pragma unroll
      for (int j = 0; j < taps; j += 4) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(weights + j));
        const float weight[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int t = 0; t < 4; ++t)
#pragma unroll
          for (int r = 0; r < thread_rows; ++r) sums[r] += weight[t] * window[r + j + t];
      }
    }
}

/// A thread's outputs: a column, and 16 rows from `row` on.
struct TileOutput {
  int first_column, column, row, in_tile;
  /// Tiles begin at the column `left`.
  __device__ TileOutput(const CorrelationTile& tile, int column_tiles, int left) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes, warp = static_cast<int>(threadIdx.x) / warp_lanes;
    first_column = left + static_cast<int>(blockIdx.x) % column_tiles * warp_lanes;
    column = first_column + lane;
    row = static_cast<int>(blockIdx.x) / column_tiles * tile.rows() + warp * thread_rows;
    in_tile = lane * tile.stride + warp * thread_rows;
  }
  __device__ int first_row(const CorrelationTile& tile, int column_tiles) const {
    return static_cast<int>(blockIdx.x) / column_tiles * tile.rows();
  }
};

template <int taps>
__global__ void __launch_bounds__(most_tile_warps* warp_lanes, 2)
    convolve_planes(GeneralCamera camera, DeviceViews views, int first, int first_given, int rows, PlaneRanges ranges,
                    TableKernels kernels, CorrelationTile tile, int column_tiles, GeneralPlanes planes,
                    DetectorPoints points) {
  extern __shared__ float4 memory[];
  float* const shared = reinterpret_cast<float*>(memory);
  const ViewLattice& lattice = camera.lattice;
  const int chunk = static_cast<int>(blockIdx.y), member = static_cast<int>(blockIdx.z);
  const int place = views.index[views.view(first + member)];
  const TileOutput out(tile, column_tiles, 0);
  const int first_column = out.first_column + lattice.margin_u - kernels.reach_u;
  const int first_row = out.first_row(tile, column_tiles) + lattice.margin_w - first_given - kernels.reach_w;
  const int begin = lattice.first + chunk * planes_a_sum, end = min(begin + planes_a_sum, lattice.last + 1);
  // The next plane that the tile meets is copied while one is convolved.
  const auto next_plane = [&](int k) {
    for (; k < end; ++k)
      if (const int2 range = ranges.of(lattice, place, k);
          range.x < first_column + tile.columns && range.y > first_column)
        break;
    return k;
  };
  const auto begin_plane = [&](int k, float* to) {
    begin_tile(tile,
               {planes.values + planes.column(lattice, member, k, 0) * planes.stride,
                planes.stride,
                ranges.of(lattice, place, k),
                {0, rows}},
               first_column, first_row, to);
  };
  float part[thread_rows] = {};
  float *here = shared, *coming = shared + tile.floats();
  int k = next_plane(begin);
  if (k < end) begin_plane(k, here);
  while (k < end) {
    __pipeline_wait_prior(0);
    __syncthreads();
    const int next = next_plane(k + 1);
    if (next < end) begin_plane(next, coming);
    float sums[thread_rows];
    correlate<taps>(here + out.in_tile, tile.stride, kernels.forward + kernels.plane(lattice, place, k), kernels.across,
                    kernels.along, sums);
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) part[r] += sums[r];
    __syncthreads();
    std::swap(here, coming);
    k = next;
  }
  if (out.column >= points.columns) return;
  float* const to = points.values + (std::int64_t{chunk} * gridDim.z + member) * points.size() +
                    std::int64_t{out.column} * points.stride;
#pragma unroll
  for (int r = 0; r < thread_rows; r += 4)
    if (out.row + r < points.stride) put_four(to, out.row + r, {part[r], part[r + 1], part[r + 2], part[r + 3]});
}

template <int taps>
__global__ void __launch_bounds__(most_tile_warps* warp_lanes, 2)
    convolve_detector(GeneralCamera camera, DeviceViews views, int first, int first_given, PlaneRanges ranges,
                      TableKernels kernels, CorrelationTile tile, int column_tiles, DetectorPoints points,
                      GeneralPlanes planes) {
  extern __shared__ float4 memory[];
  float* const shared = reinterpret_cast<float*>(memory);
  const ViewLattice& lattice = camera.lattice;
  const int chunk = static_cast<int>(blockIdx.y), member = static_cast<int>(blockIdx.z);
  const int place = views.index[views.view(first + member)];
  const int begin = lattice.first + chunk * planes_a_sum, end = min(begin + planes_a_sum, lattice.last + 1);
  const int2 reached = ranges.of_all(lattice, place, begin, end);
  const TileOutput out(tile, column_tiles, reached.x);
  if (out.first_column >= reached.y) return;
  const TileSource detector{
      points.values + member * points.size(), points.stride, {0, camera.inner_columns()}, {0, camera.inner_rows()}};
  begin_tile(tile, detector, out.first_column - lattice.margin_u - kernels.reach_u,
             out.first_row(tile, column_tiles) + first_given - lattice.margin_w - kernels.reach_w, shared);
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int k = begin; k < end; ++k) {
    const int2 range = ranges.of(lattice, place, k);
    if (range.x >= out.first_column + warp_lanes || range.y <= out.first_column) continue;
    float sums[thread_rows];
    correlate<taps>(shared + out.in_tile, tile.stride, kernels.back + kernels.plane(lattice, place, k), kernels.across,
                    kernels.along, sums);
    const int even_column = out.column - static_cast<int>(threadIdx.x) % 2;
    float* const to = planes.values + planes.column(lattice, member, k, even_column) * planes.stride;
#pragma unroll
    for (int r = 0; r < thread_rows; r += 8) {
      const PairedRows paired({sums[r], sums[r + 1], sums[r + 2], sums[r + 3]},
                              {sums[r + 4], sums[r + 5], sums[r + 6], sums[r + 7]});
      const int row = out.row + r + PairedRows::first_row();
      if (row >= planes.stride) continue;
      if (is_within(even_column, range)) put_four(to, row, paired.of_even);
      if (is_within(even_column + 1, range)) put_four(to + planes.stride, row, paired.of_odd);
    }
  }
}

/// The kernel's rows as `taps` at once have them.
int padded_taps(int along) {
  const int fours = rounded_to_four(along);
  return fours <= most_taps_at_once ? fours : (along + most_taps_at_once - 1) / most_taps_at_once * most_taps_at_once;
}

/// Calls launch(std::integral_constant<int, taps>).
template <class Launch>
void with_taps(int along, Launch&& launch) {
  if (along == 4) return launch(std::integral_constant<int, 4>());
  if (along == 8) return launch(std::integral_constant<int, 8>());
  if (along == 12) return launch(std::integral_constant<int, 12>());
  launch(std::integral_constant<int, most_taps_at_once>());
}

class TableCuda final : public GeneralBlur {
 public:
  TableCuda(const GeneralCamera& camera, const ViewSet& set, const SpectSettings& settings)
      : camera_(camera), radius_of_(radius_numbers(set)) {
    std::vector<PlaneKernel> all;
    for (const double radius : radii_of(set)) {
      const std::vector<PlaneKernel> of_radius = plane_kernels(camera.lattice, settings, radius);
      all.insert(all.end(), of_radius.begin(), of_radius.end());
    }
    for (const PlaneKernel& kernel : all) {
      kernels_.reach_u = std::max(kernels_.reach_u, kernel.across / 2);
      kernels_.reach_w = std::max(kernels_.reach_w, kernel.along / 2);
    }
    kernels_.across = 2 * kernels_.reach_u + 1;
    kernels_.along = padded_taps(2 * kernels_.reach_w + 1);
    require_room();
    forward_ = upload(all, true);
    back_ = upload(all, settings.adjoint == AdjointKind::paper);
    kernels_.forward = forward_.data();
    kernels_.back = back_.data();
    kernels_.radius_of = radius_of_.data();
  }

  int columns() const override { return camera_.lattice.columns(); }
  int stride(int rows) const override { return rounded_to_four(rows); }
  std::int64_t floats_a_view() const override { return points().size() * plane_sums(camera_); }

  void forward(const GeneralGroup& group, const PlaneRanges& ranges, const GeneralPlanes& planes, float scale,
               float* pixels) override {
    DetectorPoints sums = points();
    sums.chunks = plane_sums(camera_);
    sums.values = points_.of(sums.size() * sums.chunks * group.count, group.stream);
    const Tiles tiles(*this, sums.columns, sums.stride, group, planes_held);
    with_taps(kernels_.along, [&](auto taps) {
      tiles.take_shared_memory(convolve_planes<taps()>);
      convolve_planes<taps()><<<tiles.grid, tiles.threads(), tiles.bytes, group.stream>>>(
          camera_, group.views, group.first, group.first_row, group.rows, ranges, kernels_, tiles.tile, tiles.across,
          planes, sums);
      check_launch("convolve rotated planes with a table");
    });
    queue_sum_points(camera_, group, sums, scale, nullptr, pixels);
  }

  const float* back(const GeneralGroup& group, const PlaneRanges& ranges, const float* pixels, float scale,
                    const GeneralPlanes& planes) override {
    DetectorPoints given = points();
    given.values = points_.of(given.size() * group.count, group.stream);
    queue_spread_pixels(camera_, group, pixels, scale, given);
    const Tiles tiles(*this, columns(), planes.stride, group, 1);
    with_taps(kernels_.along, [&](auto taps) {
      tiles.take_shared_memory(convolve_detector<taps()>);
      convolve_detector<taps()><<<tiles.grid, tiles.threads(), tiles.bytes, group.stream>>>(
          camera_, group.views, group.first, group.first_row, ranges, kernels_, tiles.tile, tiles.across, given,
          planes);
      check_launch("convolve a detector with a table");
    });
    return nullptr;
  }

 private:
  /// The tiles of a launch, with as many rows each as there are, or as shared memory has room for.
  struct Tiles {
    CorrelationTile tile;
    dim3 grid;
    int across;
    std::size_t bytes;  // of shared memory

    Tiles(const TableCuda& table, int columns, int rows, const GeneralGroup& group, int tiles_held)
        : tile(table.kernels_, table.warps_for(rows)),
          across((columns + warp_lanes - 1) / warp_lanes),
          bytes(bytes_of(tile) * static_cast<std::size_t>(tiles_held)) {
      const int along = (rows + tile.rows() - 1) / tile.rows();
      grid = {static_cast<unsigned>(across * along), static_cast<unsigned>(plane_sums(table.camera_)),
              static_cast<unsigned>(group.count)};
    }
    unsigned threads() const { return static_cast<unsigned>(tile.warps * warp_lanes); }
    template <class Kernel>
    void take_shared_memory(Kernel* kernel) const {
      check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                 "take shared memory");
    }
  };

  static std::size_t bytes_of(const CorrelationTile& tile) {
    return static_cast<std::size_t>(tile.floats()) * sizeof(float);
  }
  static std::size_t shared_bytes_of_device() {
    int device = 0, bytes = 0;
    check_cuda(cudaGetDevice(&device), "find the current device");
    check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
               "find how much shared memory a block may have");
    return static_cast<std::size_t>(bytes);
  }
  /// Equal shares of the rows, so that more than one block has room.
  int warps_for(int rows) const {
    constexpr std::size_t usual_bytes = std::size_t{100} << 10;
    const std::size_t most = std::min(usual_bytes, most_bytes_);
    const int needed = (rows + thread_rows - 1) / thread_rows;
    int tiles = (needed + most_tile_warps - 1) / most_tile_warps, warps = (needed + tiles - 1) / tiles;
    while (warps > 1 && planes_held * bytes_of(CorrelationTile(kernels_, warps)) > most) {
      ++tiles;
      warps = (needed + tiles - 1) / tiles;
    }
    return warps;
  }
  void require_room() const {
    if (planes_held * bytes_of(CorrelationTile(kernels_, 1)) > most_bytes_)
      throw std::invalid_argument("a kernel table of " + std::to_string(kernels_.across) + " x " +
                                  std::to_string(2 * kernels_.reach_w + 1) +
                                  " pixels is too large for direct summation on a GPU: take psf_form: fft");
  }

  /// `reversed`: as a convolution reads a kernel.
  Buffer<float> upload(const std::vector<PlaneKernel>& all, bool reversed) const {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    const std::size_t size = at(kernels_.across) * at(kernels_.along);
    std::vector<float> values(all.size() * size, 0.0f);
    for (std::size_t k = 0; k < all.size(); ++k)
      for (int j = 0; j < all[k].along; ++j)
        for (int i = 0; i < all[k].across; ++i) {
          const int from_i = reversed ? all[k].across - 1 - i : i, from_j = reversed ? all[k].along - 1 - j : j;
          const int to_i = kernels_.reach_u - all[k].across / 2 + i, to_j = kernels_.reach_w - all[k].along / 2 + j;
          values[k * size + at(to_i * kernels_.along + to_j)] = all[k].values[at(from_j * all[k].across + from_i)];
        }
    Buffer<float> result = Buffer<float>::from({values.data(), values.size()}).to(Memory::device);
    synchronize(nullptr);  // the host's copy may go
    return result;
  }

  DetectorPoints points() const {
    return {.columns = camera_.inner_columns(), .stride = rounded_to_four(camera_.inner_rows())};
  }

  const GeneralCamera& camera_;
  Buffer<int> radius_of_;
  std::size_t most_bytes_ = shared_bytes_of_device();  // of shared memory
  TableKernels kernels_;
  Buffer<float> forward_, back_;
  GrowingFloats points_;
};

}  // namespace

std::unique_ptr<GeneralBlur> make_table_cuda(const GeneralCamera& camera, const ViewSet& set,
                                             const SpectSettings& settings) {
  return std::make_unique<TableCuda>(camera, set, settings);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
