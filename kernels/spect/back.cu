// What the points of a view's planes get of its pixels: see spect_cuda.cuh. A block holds a tile of the detector in shared
// memory and blurs it for one plane after the other.
#include <algorithm>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/plane_tile.cuh"

namespace tofstream::spect {

namespace {

/// across[column][row] = the detector's points; what lies beyond it stays as it is.
template <int rows>
__device__ void load_detector(const DeviceCamera& camera, int view, const PlaneTile<rows>& tile, int first_column,
                              int origin, const float* pixels, float scale, float* across) {
  const ViewLattice& lattice = camera.lattice;
  const int warp = static_cast<int>(threadIdx.x) / lanes, warps = static_cast<int>(blockDim.x) / lanes;
  const int n = lattice.oversample, first_row = camera.first_point_row() - origin;  // in the tile
  const int left = first_column - camera.kernels.widest_u - lattice.margin_u;       // on the detector
  const int begin = max(first_row, 0), end = min(first_row + camera.rows_of_points(), rows);
  const float* const of_view = pixels + static_cast<std::int64_t>(view) * lattice.nu * lattice.nw;
  for (int c = static_cast<int>(threadIdx.x) % lanes; c < tile.columns + 2 * camera.kernels.widest_u; c += lanes) {
    const int u = left + c;
    if (u < 0 || u >= camera.columns_of_points()) continue;
    const float* const of_column = of_view + (n == 1 ? u : u / n);
    float* const to = across + c * PlaneTile<rows>::across_stride;
#pragma unroll 8
    for (int row = begin + warp; row < end; row += warps) {
      const int w = n == 1 ? row - first_row : (row - first_row) / n;  // a division costs more than the rest
      to[row] = scale * of_column[w * lattice.nu];
    }
  }
}

/// Puts the rows of a warp's threads into columns of the volume, in place of what is left of their photons. `column`: of
/// the even thread of each two; `has_even`, `has_odd`: whether their columns are to have them. All lanes call.
__device__ inline void put_rows(const DeviceCamera& camera, const RowWindow& window, int first_row,
                                const float (&values)[rows_a_thread], std::int64_t column, bool has_even, bool has_odd,
                                const PlaneVolume& volume) {
#pragma unroll
  for (int r = 0; r < rows_a_thread; r += 8) {
    const PairedRows paired({values[r], values[r + 1], values[r + 2], values[r + 3]},
                            {values[r + 4], values[r + 5], values[r + 6], values[r + 7]});
    const int row = window.origin + first_row + r + PairedRows::first_row();
    if (row < window.begin || row >= window.end) continue;
    const auto put = [&](std::int64_t to, float4 value) {
      if (camera.mu_columns) multiply(value, four_at(volume.values, to));
      put_four(volume.values, to, value);
    };
    if (has_even) put(column * camera.stride + row, paired.of_even);
    if (has_odd) put((column + 1) * camera.stride + row, paired.of_odd);
  }
}

template <int rows>
__global__ void __launch_bounds__(most_threads, 2)
    back_planes(DeviceCamera camera, DeviceViews views, int first, PlaneTile<rows> tile, int column_tiles,
                const float* pixels, float scale, PlaneVolume volume) {
  extern __shared__ float4 memory[];
  __shared__ PlaneOfChunk planes[most_planes_a_chunk];
  float* const across = reinterpret_cast<float*>(memory);
  float* const along = across + tile.wide_columns * tile.across_stride;
  const ViewLattice& lattice = camera.lattice;
  const DeviceKernels& kernels = camera.kernels;
  float* const staged = across + tile.floats();
  const int staged_size = staged_floats(kernels, tile.wide_columns);
  const int member = static_cast<int>(blockIdx.y), view = views.view(first + member), place = views.index[view];
  const int first_column =
      camera.reached_from + static_cast<int>(blockIdx.x) % column_tiles * tile.columns;  // of the lattice
  const int first_given = camera.first_point_row();
  const RowWindow window(static_cast<int>(blockIdx.x) / column_tiles, rows, tile.rows_before, {0, camera.stride},
                         {first_given, first_given + camera.rows_of_points()});
  const ThreadPlace<rows> my;
  const ChunkOfPlanes chunk(lattice);
  const bool is_one_for_all = volume.planes == 1;  // planes
  if (!is_one_for_all) chunk.look_up(camera, place, planes);
  clear_shared(across, tile.floats());
  __syncthreads();
  load_detector<rows>(camera, view, tile, first_column, window.origin, pixels, scale, across);
  __syncthreads();
  const int even_column = my.along_column & ~1, c = first_column + even_column;
  if (is_one_for_all) {
    float values[rows_a_thread];
    copy_along(across + my.along_column * tile.across_stride + my.along_row, values);
    put_rows(camera, window, my.along_row, values, volume.column(lattice, member, 0, c), c < lattice.columns(),
             c + 1 < lattice.columns(), volume);
    return;
  }

  const auto next_plane = [&](int i) {
    while (i < chunk.count && !planes[i].meets(first_column, first_column + tile.columns)) ++i;
    return i;
  };
  const auto stage = [&](int i, int buffer) {
    StagedPlane(staged + buffer * staged_size, kernels, tile.wide_columns)
        .begin(camera, place, chunk.first + i, first_column, tile.columns);
  };
  const bool makes_rows = my.makes_rows_of(window);
  int i = next_plane(0), buffer = 0;
  if (i < chunk.count) stage(i, buffer);
  StagedPlane::wait();
  __syncthreads();
  while (i < chunk.count) {
    const PlaneOfChunk plane = planes[i];
    const StagedPlane here(staged + buffer * staged_size, kernels, tile.wide_columns);
    const std::int64_t to = volume.column(lattice, member, chunk.first + i, c);
    i = next_plane(i + 1);
    buffer = 1 - buffer;
    if (i < chunk.count) stage(i, buffer);
    const auto meets = [&](int column, int count) {
      return plane.meets(first_column + column, first_column + column + count);
    };
    float values[rows_a_thread];
    if (kernels.blur()) {
      const int into = kernels.widest_u - plane.reach_u;
      if (meets(my.across_column, columns_a_warp))
        blur_across<PlaneTile<rows>::across_stride>(
            across + (into + my.across_column) * tile.across_stride + my.across_row, here.u, plane.blocks_u(),
            along + my.across_column * tile.along_stride + tile.rows_before + my.across_row, tile.along_stride);
      __syncthreads();
    }
    if (makes_rows && meets(my.along_warp_column, lanes)) {
      if (kernels.blur())
        blur_along(along + my.along_column * tile.along_stride + tile.rows_before - plane.rows_before() + my.along_row,
                   here.w, plane.blocks_w(), values);
      else
        copy_along(across + my.along_column * tile.across_stride + my.along_row, values);
      put_rows(camera, window, my.along_row, values, to, here.base[even_column] >= 0, here.base[even_column + 1] >= 0,
               volume);
    }
    StagedPlane::wait();
    __syncthreads();
  }
}

template <int rows>
void queue_back_of(const TileChoice& choice, const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                   const float* pixels, float scale, const PlaneVolume& volume, Stream stream) {
  const PlaneTile<rows> tile(camera.kernels, choice.columns);
  const std::size_t bytes = tile.bytes(camera.kernels);
  check_cuda(
      cudaFuncSetAttribute(back_planes<rows>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "take shared memory");
  const int tiles = choice.row_tiles * choice.column_tiles;
  const int chunks = volume.planes == 1 ? 1 : chunks_for(camera, choice, count);
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(count), static_cast<unsigned>(chunks));
  back_planes<rows><<<grid, static_cast<unsigned>(tile.threads()), bytes, stream>>>(
      camera, views, first, tile, choice.column_tiles, pixels, scale, volume);
  check_launch("project views back");
}

}  // namespace

int volume_planes(const DeviceCamera& camera) {
  return camera.kernels.blur() || camera.mu_columns ? camera.lattice.last - camera.lattice.first + 1 : 1;
}

void queue_back_planes(const DeviceCamera& camera, const DeviceViews& views, int first, int count, const float* pixels,
                       float scale, const PlaneVolume& volume, Stream stream) {
  const int given = camera.first_point_row();
  const TileChoice choice = choose_tile(camera.kernels, std::max(camera.reached_to - camera.reached_from, 1),
                                        {0, camera.stride}, {given, given + camera.rows_of_points()});
  const auto queue = choice.rows == 64    ? queue_back_of<64>
                     : choice.rows == 128 ? queue_back_of<128>
                                          : queue_back_of<256>;
  queue(choice, camera, views, first, count, pixels, scale, volume, stream);
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
