// Planes of a view, rotated, attenuated and blurred, in shared memory and registers, never written as volumes: see
// spect_cuda.cuh. A block treats a tile of columns and rows of one view, plane after plane, the nearest first; each
// thread adds up its points in registers, so that the order of all sums is fixed.
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
constexpr int few_rows = 32;

/// An image in columns, read at a footprint: the rows of a lane, `lanes` apart.
struct FootprintReader {
  const float* columns;
  int stride, beside_x, beside_y;  // floats to the columns beside

  __device__ FootprintReader(const ColumnGrid& grid, const float* from, int row_stride)
      : columns(from),
        stride(row_stride),
        beside_x(grid.nx > 1 ? row_stride : 0),
        beside_y(grid.ny > 1 ? grid.nx * row_stride : 0) {}
  __device__ float at(std::int32_t base, float4 w, int row) const {
    const float* const p = columns + static_cast<std::int64_t>(base) * stride + row;
    return w.x * p[0] + w.y * p[beside_x] + w.z * p[beside_y] + w.w * p[beside_x + beside_y];
  }
};

__device__ bool is_empty(float4 w) {
  return !(w.x > 0 || w.y > 0 || w.z > 0 || w.w > 0);
}

/// Where the taps of a member's plane begin, and which of its columns meet the image.
struct PlaneTaps {
  std::int64_t begin;
  int2 range;
  __device__ PlaneTaps(const DeviceTaps& taps, const ViewLattice& lattice, int member, int plane) {
    const std::int64_t row = static_cast<std::int64_t>(member) * (lattice.last - taps.first + 1) + plane - taps.first;
    begin = row * lattice.columns();
    range = taps.range ? taps.range[row] : int2{0, lattice.columns()};
  }
};

__device__ float step_of(const ViewLattice& lattice, int column) {
  const double u = lattice.beam == Beam::parallel ? 0 : lattice.u_mm(column) / lattice.focal_mm;
  return static_cast<float>(lattice.step * sqrt(1 + u * u));
}

/// The planes of the image that a block treats, and the plane from which on it looks at what is in front of them.
struct ChunkOfPlanes {
  int look_from, first, end;
  __device__ ChunkOfPlanes(const DeviceCamera& camera, const LatticeView& look) {
    const ViewLattice& lattice = camera.lattice;
    const int all = lattice.last - lattice.first + 1, chunks = static_cast<int>(gridDim.z);
    const int chunk = static_cast<int>(blockIdx.z);
    first = lattice.first + static_cast<int>(static_cast<long long>(all) * chunk / chunks);
    end = lattice.first + static_cast<int>(static_cast<long long>(all) * (chunk + 1) / chunks);
    look_from = camera.mu_columns ? 0 : first;
    while (look_from < end && look.depth_mm(lattice, look_from) <= 0) ++look_from;
  }
};

/// Half kernels of a plane.
struct PlaneKernelsAt {
  const float *u, *w;
  int reach_u, reach_w;
  __device__ PlaneKernelsAt(const DeviceKernels& kernels, int at)
      : u(kernels.u + static_cast<std::int64_t>(at) * kernels.length),
        w(kernels.w + static_cast<std::int64_t>(at) * kernels.length),
        reach_u(kernels.reach_u[at]),
        reach_w(kernels.reach_w[at]) {}
};

/// The sum of a half kernel over what lies `step` floats apart.
__device__ float blurred(const float* at, int step, const float* weights, int reach) {
  float sum = weights[0] * at[0];
  for (int j = 1; j <= reach; ++j) sum += weights[j] * (at[-j * step] + at[j * step]);
  return sum;
}

/// `per_lane`: rows a lane; a block has lanes * per_lane rows of points.
template <int per_lane>
__global__ void __launch_bounds__(lanes* warps)
    forward_planes(DeviceCamera camera, DeviceViews views, int first, int count, DeviceTaps taps, DeviceTaps mu_taps,
                   const float* columns, float scale, float* points) {
  extern __shared__ float memory[];
  const ViewLattice& lattice = camera.lattice;
  const int member = static_cast<int>(blockIdx.y), view = views.view(first + member), place = views.index[view];
  const LatticeView look = camera.looks[place];
  const int reach = camera.kernels.length - 1, rows = lanes * per_lane, wide_rows = rows + 2 * reach;
  const int wide_columns = tile_columns + 2 * reach;
  const int column_tiles = (lattice.nu * lattice.oversample + tile_columns - 1) / tile_columns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * tile_columns;
  const int first_row = static_cast<int>(blockIdx.x) / column_tiles * rows;
  const int left = lattice.margin_u + first_column - reach, low = lattice.margin_w + first_row - reach;

  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  float* const column = memory + warp * wide_rows;             // the warp's rotated column
  float* half_way = memory + warps * wide_rows;                // of the tile, blurred along w
  float* other_half_way = half_way + wide_columns * rows;      // of the plane before
  float* const before = other_half_way + wide_columns * rows;  // attenuation: mu in front of each point of the tile
  if (camera.mu_columns)
    for (int i = threadIdx.x; i < wide_columns * wide_rows; i += blockDim.x) before[i] = 0;
  __syncthreads();

  const FootprintReader image(camera.image, columns, camera.stride), mu(camera.mu, camera.mu_columns, camera.stride);
  float sums[columns_a_warp][per_lane] = {}, part[columns_a_warp][per_lane] = {};
  int planes_in_part = 0;
  const ChunkOfPlanes chunk(camera, look);
  for (int k = chunk.look_from; k < chunk.end; ++k) {
    const bool is_of_image = k >= chunk.first;
    const PlaneTaps plane(taps, lattice, member, max(k, lattice.first));
    const bool meets = is_of_image && plane.range.x < left + wide_columns && plane.range.y > left;
    if (!meets && !camera.mu_columns) continue;
    const PlaneKernelsAt kernels(camera.kernels, camera.kernels.radius_of[place] * lattice.planes + k);
    for (int c = warp; c < wide_columns; c += warps) {
      const int at = left + c;
      const bool inside = at >= 0 && at < lattice.columns();
      const float4 w = inside && meets ? taps.weight[plane.begin + at] : float4{};
      const bool empty = is_empty(w);
      if (camera.mu_columns && inside) {
        const PlaneTaps mu_plane(mu_taps, lattice, member, k);
        const float4 mu_w = mu_taps.weight[mu_plane.begin + at];
        const std::int32_t mu_base = mu_taps.base[mu_plane.begin + at];
        const float step_mm = step_of(lattice, at);
        for (int r = lane; r < wide_rows; r += lanes) {
          const int row = low + r;
          const bool has_row = row >= 0 && row < lattice.rows();
          const float mu_here = has_row && !is_empty(mu_w) ? mu.at(mu_base, mu_w, row) : 0.0f;
          float& front = before[c * wide_rows + r];
          if (!empty) column[r] = expf(-step_mm * (front + 0.5f * mu_here));
          front += mu_here;
        }
      }
      if (!meets) continue;
      float* const out = half_way + c * rows;
      if (empty) {
        for (int i = 0; i < per_lane; ++i) out[lane + i * lanes] = 0;
        continue;
      }
      const std::int32_t base = taps.base[plane.begin + at];
#pragma unroll
      for (int i = 0; i < per_lane + 1; ++i) {
        const int r = lane + i * lanes, row = low + r;
        if (r >= wide_rows) continue;
        const float value = row >= 0 && row < lattice.rows() ? image.at(base, w, row) : 0.0f;
        column[r] = camera.mu_columns ? value * column[r] : value;
      }
      for (int r = lane + (per_lane + 1) * lanes; r < wide_rows; r += lanes) {
        const int row = low + r;
        const float value = row >= 0 && row < lattice.rows() ? image.at(base, w, row) : 0.0f;
        column[r] = camera.mu_columns ? value * column[r] : value;
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < per_lane; ++i)
        out[lane + i * lanes] = blurred(column + reach + lane + i * lanes, 1, kernels.w, kernels.reach_w);
      __syncwarp();
    }
    if (!meets) continue;
    __syncthreads();
#pragma unroll
    for (int m = 0; m < columns_a_warp; ++m)
#pragma unroll
      for (int i = 0; i < per_lane; ++i)
        part[m][i] += blurred(half_way + (warp * columns_a_warp + m + reach) * rows + lane + i * lanes, rows, kernels.u,
                              kernels.reach_u);
    constexpr int planes_a_part = 16;  // an error of rounding grows with the root of fewer terms
    if (++planes_in_part == planes_a_part) {
      planes_in_part = 0;
#pragma unroll
      for (int m = 0; m < columns_a_warp; ++m)
#pragma unroll
        for (int i = 0; i < per_lane; ++i) {
          sums[m][i] += part[m][i];
          part[m][i] = 0;
        }
    }
    float* const next = other_half_way;  // who is quicker writes the next plane while others read this one
    other_half_way = half_way;
    half_way = next;
  }
#pragma unroll
  for (int m = 0; m < columns_a_warp; ++m)
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
      const int c = first_column + warp * columns_a_warp + m, row = first_row + lane + i * lanes;
      if (c >= lattice.nu * lattice.oversample || row >= lattice.nw * lattice.oversample) continue;
      const std::int64_t part_of = static_cast<std::int64_t>(blockIdx.z) * count + first + member;
      points[(part_of * lattice.nw * lattice.oversample + row) * lattice.nu * lattice.oversample + c] =
          scale * (sums[m][i] + part[m][i]);
    }
}

/// pixel = the sum of its points, and of what each chunk of planes gives to them.
__global__ void add_points(ViewLattice lattice, DeviceViews views, int chunks, const float* points, float* pixels) {
  const int member = static_cast<int>(blockIdx.y), view = views.view(member), n = lattice.oversample;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= lattice.nu * lattice.nw) return;
  const int u = i % lattice.nu, w = i / lattice.nu;
  float sum = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t part = static_cast<std::int64_t>(chunk) * views.count + member;
    const float* const of_view = points + part * lattice.nu * lattice.nw * n * n;
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) sum += of_view[static_cast<std::int64_t>(w * n + b) * lattice.nu * n + u * n + a];
  }
  pixels[static_cast<std::int64_t>(view) * lattice.nu * lattice.nw + i] = sum;
}

template <int per_lane>
__global__ void __launch_bounds__(lanes* warps)
    back_planes(DeviceCamera camera, DeviceViews views, int first, DeviceTaps taps, DeviceTaps mu_taps,
                const float* pixels, float scale, float* planes) {
  extern __shared__ float memory[];
  const ViewLattice& lattice = camera.lattice;
  const int member = static_cast<int>(blockIdx.y), view = views.view(first + member), place = views.index[view];
  const LatticeView look = camera.looks[place];
  const int reach = camera.kernels.length - 1, rows = lanes * per_lane, wide_rows = rows + 2 * reach;
  const int wide_columns = tile_columns + 2 * reach;
  const int column_tiles = (lattice.columns() + tile_columns - 1) / tile_columns;
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * tile_columns;
  const int first_row = static_cast<int>(blockIdx.x) / column_tiles * rows;
  float* const detector = memory;  // the tile's points of the detector, and those that its kernels reach
  for (int i = threadIdx.x; i < wide_columns * wide_rows; i += blockDim.x) {
    const int c = first_column - reach + i / wide_rows - lattice.margin_u;
    const int row = first_row - reach + i % wide_rows - lattice.margin_w;
    const bool inside =
        c >= 0 && c < lattice.nu * lattice.oversample && row >= 0 && row < lattice.nw * lattice.oversample;
    const std::int64_t pixel =
        (static_cast<std::int64_t>(view) * lattice.nw + row / lattice.oversample) * lattice.nu + c / lattice.oversample;
    detector[i] = !inside ? 0.0f : pixels ? scale * pixels[pixel] : scale;
  }
  __syncthreads();

  const int warp = static_cast<int>(threadIdx.x) / lanes, lane = static_cast<int>(threadIdx.x) % lanes;
  float* const column = memory + wide_columns * wide_rows + warp * wide_rows;  // blurred along u
  const FootprintReader mu(camera.mu, camera.mu_columns, camera.stride);
  const int plane_count = lattice.last - lattice.first + 1;
  float front[columns_a_warp][per_lane] = {};  // attenuation: mu in front
  const ChunkOfPlanes chunk(camera, look);
  for (int k = chunk.look_from; k < chunk.end; ++k) {
    const bool is_of_image = k >= chunk.first;
    const PlaneTaps plane(taps, lattice, member, max(k, lattice.first));
    const PlaneKernelsAt kernels(camera.kernels, camera.kernels.radius_of[place] * lattice.planes + k);
#pragma unroll
    for (int m = 0; m < columns_a_warp; ++m) {
      const int c = warp * columns_a_warp + m, at = first_column + c;
      if (at >= lattice.columns()) continue;
      float factor[per_lane];
      if (camera.mu_columns) {
        const PlaneTaps mu_plane(mu_taps, lattice, member, k);
        const float4 mu_w = mu_taps.weight[mu_plane.begin + at];
        const std::int32_t mu_base = mu_taps.base[mu_plane.begin + at];
        const float step_mm = step_of(lattice, at);
        const bool empty = is_empty(mu_w);
#pragma unroll
        for (int i = 0; i < per_lane; ++i) {
          const int row = first_row + lane + i * lanes;
          const float mu_here = !empty && row < lattice.rows() ? mu.at(mu_base, mu_w, row) : 0.0f;
          factor[i] = expf(-step_mm * (front[m][i] + 0.5f * mu_here));
          front[m][i] += mu_here;
        }
      }
      if (!is_of_image || at < plane.range.x || at >= plane.range.y || is_empty(taps.weight[plane.begin + at]))
        continue;
      for (int r = lane; r < wide_rows; r += lanes)
        column[r] = blurred(detector + (c + reach) * wide_rows + r, wide_rows, kernels.u, kernels.reach_u);
      __syncwarp();
      float* const out =
          planes + ((static_cast<std::int64_t>(member) * plane_count + k - lattice.first) * lattice.columns() + at) *
                       camera.stride;
#pragma unroll
      for (int i = 0; i < per_lane; ++i) {
        const int row = first_row + lane + i * lanes;
        if (row >= camera.stride) continue;
        const float value = blurred(column + reach + lane + i * lanes, 1, kernels.w, kernels.reach_w);
        out[row] = row >= lattice.rows() ? 0.0f : camera.mu_columns ? value * factor[i] : value;
      }
      __syncwarp();
    }
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

/// Floats of a tile that holds what its kernels reach.
struct WideTile {
  std::size_t columns, rows, wide_rows;
  WideTile(int reach, int tile_rows)
      : columns(static_cast<std::size_t>(tile_columns + 2 * reach)),
        rows(static_cast<std::size_t>(tile_rows)),
        wide_rows(static_cast<std::size_t>(tile_rows + 2 * reach)) {}
};

/// Chunks of planes that make blocks enough for a GPU of many multiprocessors.
int chunks_for(const ViewLattice& lattice, std::int64_t blocks) {
  constexpr std::int64_t blocks_wanted = 2000;
  constexpr int least_planes = 4;
  const std::int64_t most = std::max(1, (lattice.last - lattice.first + 1) / least_planes);
  return static_cast<int>(std::clamp<std::int64_t>((blocks_wanted + blocks - 1) / blocks, 1, most));
}

template <int per_lane>
void queue_forward_of(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                      const DeviceTaps& taps, const DeviceTaps& mu_taps, const float* columns, float scale,
                      float* points, Stream stream) {
  const ViewLattice& lattice = camera.lattice;
  const WideTile tile(camera.kernels.length - 1, lanes * per_lane);
  const std::size_t bytes = sizeof(float) * (warps * tile.wide_rows + 2 * tile.columns * tile.rows +
                                             (camera.mu_columns ? tile.columns * tile.wide_rows : 0));
  allow_shared(forward_planes<per_lane>, bytes);
  const dim3 grid(
      parts(lattice.nu * lattice.oversample, tile_columns) * parts(lattice.nw * lattice.oversample, lanes * per_lane),
      static_cast<unsigned>(count), static_cast<unsigned>(chunks_of(camera, views.count)));
  forward_planes<per_lane><<<grid, lanes * warps, bytes, stream>>>(camera, views, first, views.count, taps, mu_taps,
                                                                   columns, scale, points);
  check_launch("project views");
}

template <int per_lane>
void queue_back_of(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const DeviceTaps& taps,
                   const DeviceTaps& mu_taps, const float* pixels, float scale, float* planes, Stream stream) {
  const WideTile tile(camera.kernels.length - 1, lanes * per_lane);
  const std::size_t bytes = sizeof(float) * (tile.columns * tile.wide_rows + warps * tile.wide_rows);
  allow_shared(back_planes<per_lane>, bytes);
  const unsigned tiles = parts(camera.lattice.columns(), tile_columns) * parts(camera.stride, lanes * per_lane);
  const dim3 grid(tiles, static_cast<unsigned>(count),
                  static_cast<unsigned>(chunks_for(camera.lattice, std::int64_t{tiles} * count)));
  back_planes<per_lane>
      <<<grid, lanes * warps, bytes, stream>>>(camera, views, first, taps, mu_taps, pixels, scale, planes);
  check_launch("project views back");
}

}  // namespace

int chunks_of(const DeviceCamera& camera, int views) {
  const ViewLattice& lattice = camera.lattice;
  const int rows = lattice.nw * lattice.oversample <= few_rows ? lanes : 4 * lanes;
  const std::int64_t tiles =
      std::int64_t{parts(lattice.nu * lattice.oversample, tile_columns)} * parts(lattice.nw * lattice.oversample, rows);
  return chunks_for(lattice, tiles * views);
}

void queue_forward(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const DeviceTaps& taps,
                   const DeviceTaps& mu_taps, const float* columns, float scale, float* points, Stream stream) {
  if (camera.lattice.nw * camera.lattice.oversample <= few_rows)
    queue_forward_of<1>(camera, views, first, count, taps, mu_taps, columns, scale, points, stream);
  else
    queue_forward_of<4>(camera, views, first, count, taps, mu_taps, columns, scale, points, stream);
}

void queue_add_points(const ViewLattice& lattice, const DeviceViews& views, int chunks, const float* points,
                      float* pixels, Stream stream) {
  constexpr int threads = 256;
  add_points<<<dim3(parts(lattice.nu * lattice.nw, threads), static_cast<unsigned>(views.count)), threads, 0, stream>>>(
      lattice, views, chunks, points, pixels);
  check_launch("add up the points of pixels");
}

void queue_back_planes(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                       const DeviceTaps& taps, const DeviceTaps& mu_taps, const float* pixels, float scale,
                       float* planes, Stream stream) {
  if (camera.stride <= few_rows)
    queue_back_of<1>(camera, views, first, count, taps, mu_taps, pixels, scale, planes, stream);
  else
    queue_back_of<4>(camera, views, first, count, taps, mu_taps, pixels, scale, planes, stream);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
