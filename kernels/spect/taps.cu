// The footprints of lattice points on a GPU: see spect_cuda.cuh. Made in double precision once for all places of a set, by
// a thread a point, so that projection and its transpose read the same ones.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

namespace {

constexpr int taps_threads = 128;

__global__ void __launch_bounds__(taps_threads)
    make_taps(ViewLattice lattice, const LatticeView* looks, ColumnGrid grid, DeviceTaps taps) {
  const int column = static_cast<int>(blockIdx.z) * taps_threads + static_cast<int>(threadIdx.x);
  const int k = taps.first + static_cast<int>(blockIdx.y), place = static_cast<int>(blockIdx.x);
  if (column >= lattice.columns()) return;
  const LatticeView look = looks[place];
  const AcrossAxis at =
      turned(look, lattice.n_mm(k), look.centre_u_mm + look.scale_u(lattice, k) * lattice.u_mm(column));
  const double x = snapped(grid.x_of(at.x)), y = snapped(grid.y_of(at.y));
  const std::int64_t plane = taps.plane(lattice, place, k), to = plane * lattice.columns() + column;
  std::int32_t base = -1;
  float2 beyond{};
  if (x > -1 && y > -1 && x < grid.nx && y < grid.ny && look.depth_mm(lattice, k) > 0) {
    const int ix = static_cast<int>(floor(x)), iy = static_cast<int>(floor(y));
    beyond = {static_cast<float>(x - ix), static_cast<float>(y - iy)};
    const bool right = beyond.x > 0, below = beyond.y > 0;
    if (grid.has_image(ix, iy) || (right && grid.has_image(ix + 1, iy)) || (below && grid.has_image(ix, iy + 1)) ||
        (right && below && grid.has_image(ix + 1, iy + 1)))
      base = grid.column(ix, iy);
    else
      beyond = {};
  }
  taps.base[to] = base;
  taps.beyond[to] = beyond;
  if (taps.range && base >= 0) {
    atomicMin(&taps.range[plane].x, column);  // whole numbers: in any order the same
    atomicMax(&taps.range[plane].y, column + 1);
  }
}

__global__ void clear_ranges(int2* range, std::int64_t count, int columns) {
  const std::int64_t i = std::int64_t{blockIdx.x} * taps_threads + threadIdx.x;
  if (i < count) range[i] = {columns, 0};
}

}  // namespace

void queue_taps(const DeviceCamera& camera, const ColumnGrid& grid, int places, const DeviceTaps& taps, Stream stream) {
  const auto blocks = [](std::int64_t size) { return static_cast<unsigned>((size + taps_threads - 1) / taps_threads); };
  const auto planes = static_cast<unsigned>(camera.lattice.last - taps.first + 1);
  if (taps.range) {
    const std::int64_t all = std::int64_t{places} * planes;
    clear_ranges<<<blocks(all), taps_threads, 0, stream>>>(taps.range, all, camera.lattice.columns());
    check_launch("prepare the footprints of views");
  }
  const dim3 grid_of_blocks(static_cast<unsigned>(places), planes, blocks(camera.lattice.columns()));
  make_taps<<<grid_of_blocks, taps_threads, 0, stream>>>(camera.lattice, camera.looks, grid, taps);
  check_launch("make the footprints of views");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
