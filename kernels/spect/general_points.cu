// The detector's points to pixels and back: see general_cuda.cuh.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/spect/general_footprint.cuh"

namespace tofstream::spect {

namespace {

__global__ void sum_points(GeneralCamera camera, DeviceViews views, int first, int count, DetectorPoints points,
                           float scale, const float* least, float* pixels) {
  const ViewLattice& lattice = camera.lattice;
  const std::int64_t item = elementwise::element(), a_view = std::int64_t{lattice.nu} * lattice.nw;
  if (item >= a_view * count) return;
  const int member = static_cast<int>(item / a_view), pixel = static_cast<int>(item % a_view);
  const int n = lattice.oversample;
  const int u = pixel % lattice.nu * n + points.first_u, w = pixel / lattice.nu * n + points.first_w;
  const float small = least ? least[member] : 0;
  float sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const std::int64_t at = member * points.size() + std::int64_t{u + i} * points.stride + w + j;
      for (int chunk = 0; chunk < points.chunks; ++chunk)
        sum += unless_small(points.values[chunk * count * points.size() + at], small);
    }
  pixels[views.view(first + member) * a_view + pixel] = scale * sum;
}

__global__ void spread_pixels(GeneralCamera camera, DeviceViews views, int first, int count, const float* pixels,
                              float scale, DetectorPoints points) {
  const ViewLattice& lattice = camera.lattice;
  const std::int64_t item = elementwise::element(), size = points.size();
  if (item >= size * count) return;
  const int member = static_cast<int>(item / size), point = static_cast<int>(item % size);
  const int u = point / points.stride - points.first_u, w = point % points.stride - points.first_w;
  float value = 0;
  if (u >= 0 && w >= 0 && u < camera.inner_columns() && w < camera.inner_rows()) {
    const int pixel = w / lattice.oversample * lattice.nu + u / lattice.oversample;
    value = scale * pixels[views.view(first + member) * (std::int64_t{lattice.nu} * lattice.nw) + pixel];
  }
  points.values[item] = value;
}

}  // namespace

void queue_sum_points(const GeneralCamera& camera, const GeneralGroup& group, const DetectorPoints& points, float scale,
                      const float* least, float* pixels) {
  const std::int64_t items = std::int64_t{camera.lattice.nu} * camera.lattice.nw * group.count;
  sum_points<<<elementwise::blocks(items), elementwise::threads, 0, group.stream>>>(
      camera, group.views, group.first, group.count, points, scale, least, pixels);
  check_launch("sum a detector's points");
}

void queue_spread_pixels(const GeneralCamera& camera, const GeneralGroup& group, const float* pixels, float scale,
                         const DetectorPoints& points) {
  const std::int64_t items = points.size() * group.count;
  spread_pixels<<<elementwise::blocks(items), elementwise::threads, 0, group.stream>>>(
      camera, group.views, group.first, group.count, pixels, scale, points);
  check_launch("put pixels onto a detector's points");
}

}  // namespace tofstream::spect
// SPDX-License-Identifier: Apache-2.0
