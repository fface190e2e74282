// The footprints of lattice points on a GPU: see spect_cuda.cuh. Made in double precision once for the views of a pass, by
// a thread a point, so that the kernels of planes only read them.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/spect_cuda.cuh"

namespace tofstream::spect {

namespace {

constexpr int taps_threads = 128;

/// The first of two neighbouring samples about a position, and the weights of both.
struct Neighbours {
  int first = 0;
  double weight[2] = {};

  __device__ Neighbours(double position, int size) {
    const double at = snapped(position);
    first = max(0, min(static_cast<int>(floor(at)), size - 2));
    for (int i = 0; i < 2; ++i)
      if (first + i < size) weight[i] = fmax(0.0, 1 - fabs(at - (first + i)));
  }
};

__global__ void __launch_bounds__(taps_threads)
    make_taps(DeviceCamera camera, ColumnGrid grid, DeviceViews views, int first, int plane, std::int32_t* base,
              float4* weight, int2* range) {
  const ViewLattice& lattice = camera.lattice;
  const int column = static_cast<int>(blockIdx.x) * taps_threads + static_cast<int>(threadIdx.x);
  const int k = plane + static_cast<int>(blockIdx.y), member = static_cast<int>(blockIdx.z);
  if (column >= lattice.columns()) return;
  const LatticeView look = camera.looks[views.index[views.view(first + member)]];
  const AcrossAxis at =
      turned(look, lattice.n_mm(k), look.centre_u_mm + look.scale_u(lattice, k) * lattice.u_mm(column));
  const double x = grid.x_of(at.x), y = grid.y_of(at.y);
  const std::int64_t row = static_cast<std::int64_t>(member) * gridDim.y + blockIdx.y;
  const std::int64_t to = row * lattice.columns() + column;
  float4 made{};
  int from = 0;
  if (x > -1 && y > -1 && x < grid.nx && y < grid.ny && look.depth_mm(lattice, k) > 0) {
    const Neighbours across(x, grid.nx), down(y, grid.ny);
    from = down.first * grid.nx + across.first;
    const auto share = [&](int i, int j) {
      const bool inside = across.first + i < grid.nx && down.first + j < grid.ny;
      if (!inside || (grid.support && !grid.support[from + j * grid.nx + i])) return 0.0f;
      return static_cast<float>(across.weight[i] * down.weight[j]);
    };
    made = {share(0, 0), share(1, 0), share(0, 1), share(1, 1)};
  }
  base[to] = from;
  weight[to] = made;
  if (range && (made.x > 0 || made.y > 0 || made.z > 0 || made.w > 0)) {
    atomicMin(&range[row].x, column);  // whole numbers: in any order the same
    atomicMax(&range[row].y, column + 1);
  }
}

__global__ void clear_ranges(int2* range, std::int64_t count, int columns) {
  const std::int64_t i = std::int64_t{blockIdx.x} * taps_threads + threadIdx.x;
  if (i < count) range[i] = {columns, 0};
}

}  // namespace

void queue_taps(const DeviceCamera& camera, const ColumnGrid& grid, const DeviceViews& views, int first, int count,
                int plane, std::int32_t* base, float4* weight, int2* range, Stream stream) {
  const auto blocks = [](std::int64_t size) { return static_cast<unsigned>((size + taps_threads - 1) / taps_threads); };
  const auto planes = static_cast<unsigned>(camera.lattice.last - plane + 1);
  if (range) {
    const std::int64_t rows = std::int64_t{count} * planes;
    clear_ranges<<<blocks(rows), taps_threads, 0, stream>>>(range, rows, camera.lattice.columns());
    check_launch("prepare the footprints of views");
  }
  make_taps<<<dim3(blocks(camera.lattice.columns()), planes, static_cast<unsigned>(count)), taps_threads, 0, stream>>>(
      camera, grid, views, first, plane, base, weight, range);
  check_launch("make the footprints of views");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
