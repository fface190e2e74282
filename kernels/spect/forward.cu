// Views of an image: see spect_cuda.cuh. A block rotates a tile of one view's plane into shared memory, blurs it and adds
// it up in registers, plane after plane, so that no plane is written and the order of all sums is fixed.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/plane_tile.cuh"

namespace tofstream::spect {

namespace {

RowRange rows_of_detector(const DeviceCamera& camera) {
  return {camera.first_point_row(), camera.first_point_row() + camera.rows_of_points()};
}

TileChoice forward_tile(const DeviceCamera& camera) {
  return choose_tile(camera.kernels, camera.columns_of_points(), rows_of_detector(camera), {0, camera.stride});
}

/// across[i][row] = the image at `count` columns of a plane's points, from the lattice's column `first` on, attenuated.
template <int rows>
__device__ void rotate(const DeviceCamera& camera, const StagedPlane& plane, int first, int count, int origin,
                       const FootprintReader& image, const float* attenuation, float* across) {
  constexpr int fours = rows / 4;
  constexpr int at_once = 2;  // whose reads are under way together
  const int threads = static_cast<int>(blockDim.x), all = count * fours;
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += at_once * threads) {
    float4 value[at_once];
    std::int64_t point[at_once];  // its rows in the plane; -1: none
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int item = min(begin + i * threads, all - 1), column = item / fours, row = origin + item % fours * 4;
      const bool is_row = row >= 0 && row < camera.stride;
      const int base = is_row ? plane.base[column] : -1;
      point[i] = base < 0 ? -1 : static_cast<std::int64_t>(first + column) * camera.stride + row;
      // Where nothing is, the empty columns beside the image are read.
      value[i] = image.at(max(base, 0), base < 0 ? float2{} : plane.beyond[column], is_row ? row : 0);
    }
    if (attenuation)
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (point[i] >= 0) multiply(value[i], four_at(attenuation, point[i]));
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int item = begin + i * threads;
      if (item < all) put_four(across, item / fours * PlaneTile<rows>::across_stride + item % fours * 4, value[i]);
    }
  }
}

template <int rows>
__global__ void __launch_bounds__(most_threads, 2)
    forward_planes(DeviceCamera camera, DeviceViews views, int first, PlaneTile<rows> tile, int column_tiles,
                   PlaneVolume attenuation, const float* columns, float scale, float* points) {
  extern __shared__ float4 memory[];
  __shared__ PlaneOfChunk planes[most_planes_a_chunk];
  float* const across = reinterpret_cast<float*>(memory);
  float* const along = across + tile.wide_columns * tile.across_stride;
  const ViewLattice& lattice = camera.lattice;
  const DeviceKernels& kernels = camera.kernels;
  float* const staged = across + tile.floats();
  const int staged_size = staged_floats(kernels, tile.wide_columns);
  const int member = static_cast<int>(blockIdx.y), place = views.index[views.view(first + member)];
  const int first_column = static_cast<int>(blockIdx.x) % column_tiles * tile.columns;  // of the detector
  const int left = lattice.margin_u + first_column;                                     // of the lattice
  const int made = camera.rows_of_points(), first_made = camera.first_point_row();
  const RowWindow window(static_cast<int>(blockIdx.x) / column_tiles, rows, tile.rows_before,
                         {first_made, first_made + made}, {0, camera.stride});
  const ThreadPlace<rows> my;
  const ChunkOfPlanes chunk(lattice);
  chunk.look_up(camera, place, planes);
  clear_shared(across, tile.floats());
  __syncthreads();
  const auto next_plane = [&](int i) {
    while (i < chunk.count && !planes[i].meets(left - planes[i].reach_u, left + tile.columns + planes[i].reach_u)) ++i;
    return i;
  };
  const auto stage = [&](int i, int buffer) {
    const int reach = planes[i].reach_u;
    StagedPlane(staged + buffer * staged_size, kernels, tile.wide_columns)
        .begin(camera, place, chunk.first + i, left - reach, tile.columns + 2 * reach);
  };

  const FootprintReader image(camera.image, columns, camera.stride);
  const bool makes_rows = my.makes_rows_of(window);
  float sums[rows_a_thread] = {};
  int i = next_plane(0), buffer = 0;
  if (i < chunk.count) stage(i, buffer);
  StagedPlane::wait();
  __syncthreads();
  while (i < chunk.count) {
    const PlaneOfChunk plane = planes[i];
    const StagedPlane here(staged + buffer * staged_size, kernels, tile.wide_columns);
    const int reach = plane.reach_u, into = kernels.widest_u - reach;
    const float* const left_over =
        camera.mu_columns ? attenuation.values + attenuation.column(lattice, member, chunk.first + i, 0) * camera.stride
                          : nullptr;
    rotate<rows>(camera, here, left - reach, tile.columns + 2 * reach, window.origin, image, left_over,
                 across + into * tile.across_stride);
    __syncthreads();
    i = next_plane(i + 1);
    buffer = 1 - buffer;
    if (i < chunk.count) stage(i, buffer);
    const auto meets = [&](int column, int count) {
      return plane.meets(left + column - reach, left + column + count + reach);
    };
    float values[rows_a_thread];
    if (kernels.blur()) {
      const bool is_met = meets(my.across_column, columns_a_warp);
      blur_across<PlaneTile<rows>::across_stride>(
          across + (into + my.across_column) * tile.across_stride + my.across_row, here.u,
          is_met ? plane.blocks_u() : 0,
          along + my.across_column * tile.along_stride + tile.rows_before + my.across_row, tile.along_stride);
      StagedPlane::wait();
      __syncthreads();
      if (!makes_rows || !meets(my.along_warp_column, lanes)) continue;
      blur_along(along + my.along_column * tile.along_stride + tile.rows_before - plane.rows_before() + my.along_row,
                 here.w, plane.blocks_w(), values);
    } else {
      copy_along(across + my.along_column * tile.across_stride + my.along_row, values);
      StagedPlane::wait();
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < rows_a_thread; ++r) sums[r] += values[r];
  }

  const int c = first_column + my.along_column;
  if (c >= camera.columns_of_points()) return;
  float* const to =
      points + (static_cast<std::int64_t>(blockIdx.z) * gridDim.y + member) * made * camera.columns_of_points();
#pragma unroll
  for (int r = 0; r < rows_a_thread; ++r) {
    const int row = window.origin + my.along_row + r;
    if (row >= window.begin && row < window.end)
      to[static_cast<std::int64_t>(row - first_made) * camera.columns_of_points() + c] = scale * sums[r];
  }
}

/// pixel = the sum of its points, and of what each chunk of planes gives to them.
__global__ void add_points(ViewLattice lattice, DeviceViews views, int first, int chunks, const float* points,
                           float* pixels) {
  const int member = static_cast<int>(blockIdx.y), view = views.view(first + member), n = lattice.oversample;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= lattice.nu * lattice.nw) return;
  const int u = i % lattice.nu, w = i / lattice.nu, line = lattice.nu * n;
  const std::int64_t of_view = std::int64_t{line} * lattice.nw * n, of_chunk = of_view * gridDim.y;
  double sum = 0;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      const float* const point = points + member * of_view + std::int64_t{w * n + b} * line + u * n + a;
#pragma unroll 8
      for (int chunk = 0; chunk < chunks; ++chunk) sum += static_cast<double>(point[chunk * of_chunk]);
    }
  pixels[std::int64_t{view} * lattice.nu * lattice.nw + i] = static_cast<float>(sum);
}

template <int rows>
void queue_forward_of(const TileChoice& choice, const DeviceCamera& camera, const DeviceViews& views, int first,
                      int count, int chunks, const PlaneVolume& attenuation, const float* columns, float scale,
                      float* points, Stream stream) {
  const PlaneTile<rows> tile(camera.kernels, choice.columns);
  const std::size_t bytes = tile.bytes(camera.kernels);
  check_cuda(
      cudaFuncSetAttribute(forward_planes<rows>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "take shared memory");
  const dim3 grid(static_cast<unsigned>(choice.row_tiles * choice.column_tiles), static_cast<unsigned>(count),
                  static_cast<unsigned>(chunks));
  forward_planes<rows><<<grid, static_cast<unsigned>(tile.threads()), bytes, stream>>>(
      camera, views, first, tile, choice.column_tiles, attenuation, columns, scale, points);
  check_launch("project views");
}

}  // namespace

int chunks_of(const DeviceCamera& camera, int views) {
  const TileChoice choice = forward_tile(camera);
  return chunks_for(camera, choice, views);
}

void queue_forward(const DeviceCamera& camera, const DeviceViews& views, int first, int count, int chunks,
                   const PlaneVolume& attenuation, const float* columns, float scale, float* points, Stream stream) {
  const TileChoice choice = forward_tile(camera);
  const auto queue = choice.rows == 64    ? queue_forward_of<64>
                     : choice.rows == 128 ? queue_forward_of<128>
                                          : queue_forward_of<256>;
  queue(choice, camera, views, first, count, chunks, attenuation, columns, scale, points, stream);
}

void queue_add_points(const DeviceCamera& camera, const DeviceViews& views, int first, int count, int chunks,
                      const float* points, float* pixels, Stream stream) {
  constexpr int threads = 128;
  const int all = camera.lattice.nu * camera.lattice.nw;
  const dim3 grid(static_cast<unsigned>((all + threads - 1) / threads), static_cast<unsigned>(count));
  add_points<<<grid, threads, 0, stream>>>(camera.lattice, views, first, chunks, points, pixels);
  check_launch("add up the points of pixels");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
