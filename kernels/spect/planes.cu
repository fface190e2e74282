// Planes of a view, rotated, attenuated and blurred, in shared memory, never written as volumes: see spect_cuda.cuh. A
// block treats a tile of columns and rows of one view, plane after plane, the nearest first; each thread adds up its
// pixels in registers, so that the order of all sums is fixed.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

namespace {

constexpr int lanes = 32;
constexpr int warps = 8;
constexpr int columns_a_warp = 2;
constexpr int tile_columns = warps * columns_a_warp;

/// The at most four columns of voxels around a lattice point. Weights are those of ViewTaps.
struct PointTaps {
  std::int32_t column[4];
  float weight[4];
};

__device__ PointTaps point_taps(const ColumnGrid& grid, double x, double y) {
  PointTaps taps{};
  if (!(x > -1 && y > -1 && x < grid.nx && y < grid.ny)) return taps;
  const SamplePair across(x, grid.nx), down(y, grid.ny);
  int count = 0;
  for (int j = 0; j < down.count; ++j)
    for (int i = 0; i < across.count; ++i) {
      const std::int32_t column = down.sample[j] * grid.nx + across.sample[i];
      if (grid.support && !grid.support[column]) continue;
      taps.column[count] = column;
      taps.weight[count++] = static_cast<float>(across.weight[i] * down.weight[j]);
    }
  return taps;
}

__device__ float value_at(const PointTaps& taps, const float* columns, int stride, int row) {
  float sum = 0;
  for (int t = 0; t < 4; ++t)
    if (taps.weight[t] > 0) sum += taps.weight[t] * columns[static_cast<std::int64_t>(taps.column[t]) * stride + row];
  return sum;
}

__device__ AcrossAxis lattice_point(const ViewLattice& lattice, const LatticeView& look, int plane, int column) {
  return turned(look, lattice.n_mm(plane), look.centre_u_mm + look.scale_u(lattice, plane) * lattice.u_mm(column));
}

/// What a block knows of its tile: lattice columns [column, column + columns) and rows [row, row + rows) of which it
/// holds values, its pixels with the reach of the kernels about them.
struct Tile {
  int column, columns, row, rows;
};

/// Taps of a plane's columns of the tile, made once a plane. True where the plane has an image in the tile.
__device__ bool make_taps(const DeviceCamera& camera, const LatticeView& look, const ColumnGrid& grid, int plane,
                          const Tile& tile, PointTaps* taps) {
  bool any = false;
  for (int c = threadIdx.x; c < tile.columns; c += blockDim.x) {
    const int column = tile.column + c;
    PointTaps made{};
    if (column >= 0 && column < camera.lattice.columns()) {
      const AcrossAxis at = lattice_point(camera.lattice, look, plane, column);
      made = point_taps(grid, grid.x_of(at.x), grid.y_of(at.y));
    }
    taps[c] = made;
    any = any || made.weight[0] > 0;
  }
  return __syncthreads_or(any);
}

/// Adds the mu of a plane to what lies before the next one. With `factors`, also what gets out of this plane.
__device__ void attenuate(const DeviceCamera& camera, const Tile& tile, const PointTaps* taps, const float* step_mm,
                          float* before, float* factors) {
  for (int i = threadIdx.x; i < tile.columns * tile.rows; i += blockDim.x) {
    const int c = i / tile.rows, row = tile.row + i % tile.rows;
    const bool inside = row >= 0 && row < camera.lattice.rows();
    const float mu = inside ? value_at(taps[c], camera.mu_columns, camera.stride, row) : 0.0f;
    if (factors) factors[i] = expf(-step_mm[c] * (before[i] + 0.5f * mu));
    before[i] += mu;
  }
}

__device__ float step_of(const ViewLattice& lattice, int column) {
  const double u = lattice.beam == Beam::parallel ? 0 : lattice.u_mm(column) / lattice.focal_mm;
  return static_cast<float>(lattice.step * sqrt(1 + u * u));
}

/// Shared memory of a block, in the order in which it is handed out.
struct SharedTile {
  PointTaps* taps;
  float *step_mm, *before, *factors, *values, *half_way;
};

__device__ SharedTile shared_tile(const Tile& tile, bool attenuated) {
  extern __shared__ float4 memory[];
  SharedTile shared{};
  shared.taps = reinterpret_cast<PointTaps*>(memory);
  float* next = reinterpret_cast<float*>(shared.taps + tile.columns);
  const int size = tile.columns * tile.rows;
  const auto take = [&](int count) {
    float* const here = next;
    next += count;
    return here;
  };
  shared.values = take(size);
  shared.half_way = take(size);
  if (attenuated) {
    shared.step_mm = take(tile.columns);
    shared.before = take(size);
    shared.factors = take(size);
  }
  return shared;
}

std::size_t shared_bytes(int columns, int rows, bool attenuated) {
  const auto size = static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
  return static_cast<std::size_t>(columns) * sizeof(PointTaps) +
         sizeof(float) * (2 * size + (attenuated ? 2 * size + static_cast<std::size_t>(columns) : 0));
}

__device__ void begin_attenuation(const DeviceCamera& camera, const Tile& tile, const SharedTile& shared) {
  if (!camera.mu_columns) return;
  for (int i = threadIdx.x; i < tile.columns * tile.rows; i += blockDim.x) shared.before[i] = 0;
  for (int c = threadIdx.x; c < tile.columns; c += blockDim.x)
    shared.step_mm[c] = step_of(camera.lattice, tile.column + c);
  __syncthreads();
}

/// Planes [first plane before the face, last]: with attenuation from the camera's face on, else from the image's.
__device__ int first_plane_of(const DeviceCamera& camera, const LatticeView& look) {
  int plane = camera.mu_columns ? 0 : camera.lattice.first;
  while (plane <= camera.lattice.last && look.depth_mm(camera.lattice, plane) <= 0) ++plane;
  return plane;
}

/// `per_lane`: rows a lane; a block has lanes * per_lane rows of pixels.
template <int per_lane>
__global__ void __launch_bounds__(lanes* warps)
    forward_planes(DeviceCamera camera, DeviceViews views, const float* columns, float scale, float* points) {
  const ViewLattice& lattice = camera.lattice;
  const int view = views.view(static_cast<int>(blockIdx.y)), place = views.index[view];
  const LatticeView look = camera.looks[place];
  const int kernels = camera.kernels.radius_of[place] * lattice.planes;
  const int reach = camera.kernels.length - 1;
  const int column_tiles = (lattice.nu * lattice.oversample + tile_columns - 1) / tile_columns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * tile_columns;
  const int first_row = static_cast<int>(blockIdx.x) / column_tiles * lanes * per_lane;
  const Tile tile{lattice.margin_u + first_column - reach, tile_columns + 2 * reach,
                  lattice.margin_w + first_row - reach, lanes * per_lane + 2 * reach};
  const SharedTile shared = shared_tile(tile, camera.mu_columns != nullptr);
  begin_attenuation(camera, tile, shared);

  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  float sums[columns_a_warp][per_lane] = {}, part[columns_a_warp][per_lane] = {};
  int planes_in_part = 0;
  for (int k = first_plane_of(camera, look); k <= lattice.last; ++k) {
    const bool is_of_image = k >= lattice.first;
    if (camera.mu_columns) {
      make_taps(camera, look, camera.mu, k, tile, shared.taps);
      attenuate(camera, tile, shared.taps, shared.step_mm, shared.before, is_of_image ? shared.factors : nullptr);
      __syncthreads();
    }
    if (!is_of_image || !make_taps(camera, look, camera.image, k, tile, shared.taps)) continue;
    const int reach_u = camera.kernels.reach_u[kernels + k], reach_w = camera.kernels.reach_w[kernels + k];
    const float* const u = camera.kernels.u + static_cast<std::int64_t>(kernels + k) * camera.kernels.length;
    const float* const w = camera.kernels.w + static_cast<std::int64_t>(kernels + k) * camera.kernels.length;

    for (int c = warp; c < tile.columns; c += warps) {
      const PointTaps taps = shared.taps[c];
      for (int r = lane; r < tile.rows; r += lanes) {
        const int row = tile.row + r;
        float value = row >= 0 && row < lattice.rows() ? value_at(taps, columns, camera.stride, row) : 0.0f;
        if (camera.mu_columns) value *= shared.factors[c * tile.rows + r];
        shared.values[c * tile.rows + r] = value;
      }
      __syncwarp();
      for (int i = 0; i < per_lane; ++i) {  // along w, by the warp that has made the column
        const float* const at = shared.values + c * tile.rows + reach + lane + i * lanes;
        float sum = w[0] * at[0];
        for (int j = 1; j <= reach_w; ++j) sum += w[j] * (at[-j] + at[j]);
        shared.half_way[c * tile.rows + lane + i * lanes] = sum;
      }
    }
    __syncthreads();
    for (int m = 0; m < columns_a_warp; ++m) {
      const int c = warp * columns_a_warp + m + reach;
      for (int i = 0; i < per_lane; ++i) {
        const float* const at = shared.half_way + c * tile.rows + lane + i * lanes;
        float sum = u[0] * at[0];
        for (int j = 1; j <= reach_u; ++j) sum += u[j] * (at[-j * tile.rows] + at[j * tile.rows]);
        part[m][i] += sum;
      }
    }
    constexpr int planes_a_part = 16;  // an error of rounding grows with the root of fewer terms
    if (++planes_in_part == planes_a_part) {
      planes_in_part = 0;
      for (int m = 0; m < columns_a_warp; ++m)
        for (int i = 0; i < per_lane; ++i) {
          sums[m][i] += part[m][i];
          part[m][i] = 0;
        }
    }
    __syncthreads();
  }
  for (int m = 0; m < columns_a_warp; ++m)
    for (int i = 0; i < per_lane; ++i) {
      const int c = first_column + warp * columns_a_warp + m, row = first_row + lane + i * lanes;
      if (c >= lattice.nu * lattice.oversample || row >= lattice.nw * lattice.oversample) continue;
      points[(static_cast<std::int64_t>(view) * lattice.nw * lattice.oversample + row) * lattice.nu *
                 lattice.oversample +
             c] = scale * (sums[m][i] + part[m][i]);
    }
}

/// Of a lattice finer than the pixels: pixel = the sum of its points.
__global__ void add_points(ViewLattice lattice, DeviceViews views, const float* points, float* pixels) {
  const int view = views.view(static_cast<int>(blockIdx.y)), n = lattice.oversample;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= lattice.nu * lattice.nw) return;
  const int u = i % lattice.nu, w = i / lattice.nu;
  const float* const of_view = points + static_cast<std::int64_t>(view) * lattice.nu * lattice.nw * n * n;
  float sum = 0;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) sum += of_view[static_cast<std::int64_t>(w * n + b) * lattice.nu * n + u * n + a];
  pixels[static_cast<std::int64_t>(view) * lattice.nu * lattice.nw + i] = sum;
}

template <int per_lane>
__global__ void __launch_bounds__(lanes* warps)
    back_planes(DeviceCamera camera, DeviceViews views, int first, const float* pixels, float scale, float* planes) {
  const ViewLattice& lattice = camera.lattice;
  const int view = views.view(first + static_cast<int>(blockIdx.y)), place = views.index[view];
  const LatticeView look = camera.looks[place];
  const int kernels = camera.kernels.radius_of[place] * lattice.planes;
  const int reach = camera.kernels.length - 1;
  const int column_tiles = (lattice.columns() + tile_columns - 1) / tile_columns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * tile_columns;
  const int first_row = static_cast<int>(blockIdx.x) / column_tiles * lanes * per_lane;
  const Tile tile{first_column - reach, tile_columns + 2 * reach, first_row - reach, lanes * per_lane + 2 * reach};
  const SharedTile shared = shared_tile(tile, camera.mu_columns != nullptr);
  begin_attenuation(camera, tile, shared);
  for (int i = threadIdx.x; i < tile.columns * tile.rows; i += blockDim.x) {
    const int c = tile.column + i / tile.rows - lattice.margin_u, row = tile.row + i % tile.rows - lattice.margin_w;
    const bool inside =
        c >= 0 && c < lattice.nu * lattice.oversample && row >= 0 && row < lattice.nw * lattice.oversample;
    const std::int64_t pixel =
        (static_cast<std::int64_t>(view) * lattice.nw + row / lattice.oversample) * lattice.nu + c / lattice.oversample;
    shared.values[i] = !inside ? 0.0f : pixels ? scale * pixels[pixel] : scale;
  }
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  const int plane_count = lattice.last - lattice.first + 1;
  for (int k = first_plane_of(camera, look); k <= lattice.last; ++k) {
    const bool is_of_image = k >= lattice.first;
    if (camera.mu_columns) {
      make_taps(camera, look, camera.mu, k, tile, shared.taps);
      attenuate(camera, tile, shared.taps, shared.step_mm, shared.before, is_of_image ? shared.factors : nullptr);
      __syncthreads();
    }
    if (!is_of_image || !make_taps(camera, look, camera.image, k, tile, shared.taps)) continue;
    const int reach_u = camera.kernels.reach_u[kernels + k], reach_w = camera.kernels.reach_w[kernels + k];
    const float* const u = camera.kernels.u + static_cast<std::int64_t>(kernels + k) * camera.kernels.length;
    const float* const w = camera.kernels.w + static_cast<std::int64_t>(kernels + k) * camera.kernels.length;
    for (int m = 0; m < columns_a_warp; ++m) {
      const int c = warp * columns_a_warp + m + reach, column = tile.column + c;
      if (column >= lattice.columns() || !(shared.taps[c].weight[0] > 0)) continue;
      for (int r = lane; r < tile.rows; r += lanes) {
        const float* const at = shared.values + c * tile.rows + r;
        float sum = u[0] * at[0];
        for (int j = 1; j <= reach_u; ++j) sum += u[j] * (at[-j * tile.rows] + at[j * tile.rows]);
        shared.half_way[c * tile.rows + r] = sum;
      }
      __syncwarp();
      float* const out =
          planes +
          ((static_cast<std::int64_t>(blockIdx.y) * plane_count + k - lattice.first) * lattice.columns() + column) *
              camera.stride;
      for (int i = 0; i < per_lane; ++i) {
        const int row = first_row + lane + i * lanes;
        const float* const at = shared.half_way + c * tile.rows + reach + lane + i * lanes;
        float sum = w[0] * at[0];
        for (int j = 1; j <= reach_w; ++j) sum += w[j] * (at[-j] + at[j]);
        if (camera.mu_columns) sum *= shared.factors[c * tile.rows + reach + lane + i * lanes];
        if (row < camera.stride) out[row] = row < lattice.rows() ? sum : 0.0f;
      }
      __syncwarp();
    }
    __syncthreads();
  }
}

template <class Kernel>
void allow_shared(Kernel kernel, std::size_t bytes) {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  if (bytes > static_cast<std::size_t>(most))
    throw std::invalid_argument(
        "the point spread is wider than this GPU's shared memory allows: take larger voxels, or backend: cpu");
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "take shared memory");
}

unsigned parts(int size, int part) {
  return static_cast<unsigned>((size + part - 1) / part);
}

template <int per_lane>
void queue_forward_of(const DeviceCamera& camera, const DeviceViews& views, const float* columns, float scale,
                      float* points, Stream stream) {
  const ViewLattice& lattice = camera.lattice;
  const int reach = camera.kernels.length - 1;
  const std::size_t bytes = shared_bytes(tile_columns + 2 * reach, lanes * per_lane + 2 * reach, camera.mu_columns);
  allow_shared(forward_planes<per_lane>, bytes);
  const dim3 grid(
      parts(lattice.nu * lattice.oversample, tile_columns) * parts(lattice.nw * lattice.oversample, lanes * per_lane),
      static_cast<unsigned>(views.count));
  forward_planes<per_lane><<<grid, lanes * warps, bytes, stream>>>(camera, views, columns, scale, points);
  check_launch("project views");
}

template <int per_lane>
void queue_back_of(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const float* pixels,
                   float scale, float* planes, Stream stream) {
  const ViewLattice& lattice = camera.lattice;
  const int reach = camera.kernels.length - 1;
  const std::size_t bytes = shared_bytes(tile_columns + 2 * reach, lanes * per_lane + 2 * reach, camera.mu_columns);
  allow_shared(back_planes<per_lane>, bytes);
  const dim3 grid(parts(lattice.columns(), tile_columns) * parts(camera.stride, lanes * per_lane),
                  static_cast<unsigned>(count));
  back_planes<per_lane><<<grid, lanes * warps, bytes, stream>>>(camera, views, first, pixels, scale, planes);
  check_launch("project views back");
}

constexpr int few_rows = 32;

}  // namespace

void queue_forward(const DeviceCamera& camera, const DeviceViews& views, const float* columns, float scale,
                   float* points, Stream stream) {
  if (camera.lattice.nw * camera.lattice.oversample <= few_rows)
    queue_forward_of<1>(camera, views, columns, scale, points, stream);
  else
    queue_forward_of<4>(camera, views, columns, scale, points, stream);
}

void queue_add_points(const ViewLattice& lattice, const DeviceViews& views, const float* points, float* pixels,
                      Stream stream) {
  constexpr int threads = 256;
  add_points<<<dim3(parts(lattice.nu * lattice.nw, threads), static_cast<unsigned>(views.count)), threads, 0, stream>>>(
      lattice, views, points, pixels);
  check_launch("add up the points of pixels");
}

void queue_back_planes(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const float* pixels,
                       float scale, float* planes, Stream stream) {
  if (camera.stride <= few_rows)
    queue_back_of<1>(camera, views, first, count, pixels, scale, planes, stream);
  else
    queue_back_of<4>(camera, views, first, count, pixels, scale, planes, stream);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
