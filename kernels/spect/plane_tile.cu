// Which tiles of planes a launch has: see plane_tile.cuh.
#include <algorithm>
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
    best = {rows, tile_columns, tiles, (columns + tile_columns - 1) / tile_columns};
  }
  if (least == 0)
    throw std::invalid_argument(
        "the point spread is wider than this GPU's shared memory allows: take larger voxels, or backend: cpu");
  return best;
}

int chunks_for(const ViewLattice& lattice, std::int64_t blocks) {
  constexpr std::int64_t blocks_wanted = 800;  // some for each multiprocessor, so that all end at about the same time
  const int all = lattice.last - lattice.first + 1;
  const int least = (all + most_planes_a_chunk - 1) / most_planes_a_chunk;
  return static_cast<int>(std::clamp<std::int64_t>((blocks_wanted + blocks - 1) / blocks, least, all));
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
