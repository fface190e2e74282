// Which tiles of planes a launch has: see plane_tile.cuh.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/spect/plane_tile.cuh"

namespace tofstream::spect {

namespace {

int row_tiles_of(int rows, int reach, RowRange made, RowRange given) {
  int tiles = 1;
  while (RowWindow(tiles - 1, rows, reach, made, given).end < made.end) ++tiles;
  return tiles;
}

std::size_t shared_bytes_of_tile(const DeviceKernels& kernels, int rows, int columns) {
  return rows == 64    ? PlaneTile<64>(kernels, columns).bytes(kernels)
         : rows == 128 ? PlaneTile<128>(kernels, columns).bytes(kernels)
                       : PlaneTile<256>(kernels, columns).bytes(kernels);
}

std::size_t ask_for_shared_bytes() {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  return static_cast<std::size_t>(most);
}

std::size_t most_shared_bytes() {
  static const std::size_t most = ask_for_shared_bytes();  // a program computes on one device
  return most;
}

}  // namespace

TileChoice choose_tile(const DeviceKernels& kernels, int columns, RowRange made, RowRange given) {
  const int reach = rounded_to_four(kernels.widest_w);
  const std::size_t most = most_shared_bytes();
  TileChoice best;
  int least = 0;  // rows that all tiles treat
  for (const int rows : {64, 128, 256}) {
    const int widest = most_threads / lanes * columns_a_warp * rows_a_warp / rows;
    const int tile_columns = std::min(widest, (columns + lanes - 1) / lanes * lanes);
    if (rows <= 2 * reach + 4 || shared_bytes_of_tile(kernels, rows, tile_columns) > most) continue;
    const int tiles = row_tiles_of(rows, reach, made, given);
    if (least > 0 && tiles * rows >= least) continue;
    least = tiles * rows;
    best = {rows, tile_columns, tiles, (columns + tile_columns - 1) / tile_columns,
            shared_bytes_of_tile(kernels, rows, tile_columns)};
  }
  if (least == 0)
    throw std::invalid_argument(
        "the point spread is wider than this GPU's shared memory allows: take larger voxels, or backend: cpu");
  return best;
}

int chunks_for(const DeviceCamera& camera, const TileChoice& choice, int views) {
  constexpr std::int64_t multiprocessors = 132, registers = 65536, registers_a_thread = 128;
  constexpr std::int64_t shared_bytes = std::int64_t{228} << 10, reserved_bytes = 1 << 10;
  const std::int64_t held = std::min(shared_bytes / (static_cast<std::int64_t>(choice.bytes) + reserved_bytes),
                                     registers / (registers_a_thread * choice.threads()));
  const std::int64_t at_once = multiprocessors * std::max<std::int64_t>(held, 1);
  const std::int64_t blocks = std::int64_t{choice.row_tiles} * choice.column_tiles * views;
  const int planes = camera.lattice.last - camera.lattice.first + 1;
  const auto parts = [](std::int64_t size, std::int64_t part) { return (size + part - 1) / part; };
  int best = planes;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  // Turns of all multiprocessors, each as long as a chunk's planes and a block's beginning and end, which take about as
  // long as a plane.
  for (auto chunks = static_cast<int>(parts(planes, most_planes_a_chunk)); chunks <= planes; ++chunks) {
    const std::int64_t time = parts(blocks * chunks, at_once) * (parts(planes, chunks) + 1);
    if (time < least) {
      least = time;
      best = chunks;
    }
  }
  return best;
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
