// Scatter for histo-images: see histo_scatter.hpp.
#include "gadgets/direct/histo_scatter.hpp"

#include "kernels/direct/histo_sensitivity.hpp"

namespace tofstream {

HistoScatter::HistoScatter(const HistoPlace& place, const Scanner& scanner, std::span<const float> unattenuated)
    : lines_(place.grid, place.views, place.lattice, scatter_of(scanner).radius_mm(scanner)),
      points_a_voxel_(HistoSensitivity(place.grid, place.views, place.lattice).points_a_voxel()),
      unattenuated_(unattenuated) {}

void HistoScatter::add(const LineScatter& scatter, int view, double seconds, const float* before, float* to,
                       Memory memory) const {
  const std::int64_t points = lines_.points();
  const float* terms = unattenuated_.data() + view * points;
  Buffer<float> there;  // the terms of all views need not have room on a GPU
  if (!on_host(memory)) {
    there = Buffer<float>(memory, points);
    detail::copy(there.data(), memory, terms, Memory::host, there.bytes(), nullptr);
    terms = there.data();
  }
  const LinesOfPoints lines(lines_.of_view(view), memory);
  Buffer<float> density(memory, points);
  scatter.density(lines.events(), density.data(), memory, nullptr);
  // A sensitivity is a density of voxels, and counts belong to points.
  add_expected(before, seconds / points_a_voxel_, terms, density.data(), points, to, memory);
  synchronize(nullptr);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
