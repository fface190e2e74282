// What is left of the photons of each lattice point at the camera: see spect_cuda.cuh. A thread follows four rows of a
// column from the camera on and adds up what lies in front.
#include "kernels/cuda/check.hpp"
#include "kernels/spect/footprint_reader.cuh"

namespace tofstream::spect {

namespace {

constexpr int attenuation_threads = 128;
constexpr int planes_at_once = 4;  // whose reads are under way together

/// The way through a plane along a column's line of sight, mm.
__device__ double step_of(const ViewLattice& lattice, int column) {
  const double u = lattice.beam == Beam::parallel ? 0 : lattice.u_mm(column) / lattice.focal_mm;
  return lattice.step * sqrt(1 + u * u);
}

__device__ float4 photons_left(float step_mm, float4 mu) {
  return {expf(-step_mm * mu.x), expf(-step_mm * mu.y), expf(-step_mm * mu.z), expf(-step_mm * mu.w)};
}
__device__ bool is_zero(float4 value) {
  return value.x == 0 && value.y == 0 && value.z == 0 && value.w == 0;
}

/// Four rows' sums of what lies in front of a group of planes, in double precision: their error would be that of all
/// planes behind.
struct InFront {
  double mu[4] = {};
  float4 sum{}, left{1, 1, 1, 1};

  __device__ void pass(float step_mm, float4 of_group) {
    mu[0] += static_cast<double>(of_group.x);
    mu[1] += static_cast<double>(of_group.y);
    mu[2] += static_cast<double>(of_group.z);
    mu[3] += static_cast<double>(of_group.w);
    sum = {static_cast<float>(mu[0]), static_cast<float>(mu[1]), static_cast<float>(mu[2]), static_cast<float>(mu[3])};
    left = photons_left(step_mm, sum);
  }
};

__global__ void __launch_bounds__(attenuation_threads)
    attenuate(DeviceCamera camera, DeviceViews views, int first, PlaneVolume volume) {
  const ViewLattice& lattice = camera.lattice;
  const int fours = camera.stride / 4, columns = lattice.columns();
  const int item = static_cast<int>(blockIdx.x) * attenuation_threads + static_cast<int>(threadIdx.x);
  const int c = item / fours, row = item % fours * 4, member = static_cast<int>(blockIdx.y);
  if (c >= columns) return;
  const int place = views.index[views.view(first + member)];
  const std::int64_t of_mu = camera.mu_taps.plane(lattice, place, 0) * columns + c;
  const std::int64_t of_image = camera.taps.plane(lattice, place, lattice.first) * columns + c;
  const FootprintReader mu(camera.mu, camera.mu_columns, camera.stride);
  const float step_mm = static_cast<float>(step_of(lattice, c));
  InFront front;
  for (int begin = 0; begin <= lattice.last; begin += planes_at_once) {
    float4 here[planes_at_once], of_group{};
#pragma unroll
    for (int i = 0; i < planes_at_once; ++i) {
      here[i] = float4{};
      const int k = begin + i;
      if (k > lattice.last) continue;
      const std::int64_t at = of_mu + static_cast<std::int64_t>(k) * columns;
      const std::int32_t base = camera.mu_taps.base[at];
      if (base >= 0) here[i] = mu.at(base, camera.mu_taps.beyond[at], row);
    }
#pragma unroll
    for (int i = 0; i < planes_at_once; ++i) {
      const int k = begin + i;
      float4 left = front.left;
      if (!is_zero(here[i]) || !is_zero(of_group)) {
        float4 before = front.sum;
        add_scaled(before, 1, of_group);
        add_scaled(before, 0.5f, here[i]);
        left = photons_left(step_mm, before);
        add_scaled(of_group, 1, here[i]);
      }
      if (k < lattice.first || k > lattice.last) continue;
      if (camera.taps.base[of_image + static_cast<std::int64_t>(k - lattice.first) * columns] < 0) continue;
      put_four(volume.values, volume.column(lattice, member, k, c) * camera.stride + row, left);
    }
    if (!is_zero(of_group)) front.pass(step_mm, of_group);
  }
}

}  // namespace

void queue_attenuation(const DeviceCamera& camera, const DeviceViews& views, int first, int count,
                       const PlaneVolume& volume, Stream stream) {
  const int items = camera.lattice.columns() * (camera.stride / 4);
  const dim3 grid(static_cast<unsigned>((items + attenuation_threads - 1) / attenuation_threads),
                  static_cast<unsigned>(count));
  attenuate<<<grid, attenuation_threads, 0, stream>>>(camera, views, first, volume);
  check_launch("attenuate views");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
