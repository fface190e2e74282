// What the benchmarks of projectors share: the TOR as in the paper, an image to project, times and the check against
// the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "kernels/blob/blob.hpp"
#include "kernels/device/stopwatch.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/types/image.hpp"
#include "tools/bench/bench.hpp"

namespace tofstream::command {

/// A Gaussian tube of the given diameter, cut at 2.74 sigma.
inline TorSettings tor_settings(const Grid& grid, double tube_width_voxels, CudaPath path) {
  const float radius =
      0.5f * static_cast<float>(tube_width_voxels) * std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
  return {.response = RadialResponse::gaussian(0.86f * radius, radius), .cuda_path = path};
}

/// The standard blobs on two lattices of the voxels' edge.
inline Grid with_standard_blobs(Grid grid) {
  constexpr float alpha = 8.3689f;
  grid.blob = {uniform_blob_radius_mm(grid.voxel_mm.x, alpha), alpha};
  return grid;
}

/// Voxels uniform in [0.5, 1.5), the same at every call.
inline Image test_image(const Grid& grid) {
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> value(0.5f, 1.5f);
  for (float& voxel : image.voxels.span()) voxel = value(engine);
  return image;
}

/// Uniform in [low, high), the same at every call.
inline std::vector<float> uniform_values(std::int64_t count, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::mt19937 engine(8);
  std::uniform_real_distribution<float> uniform(low, high);
  for (float& value : values) value = uniform(engine);
  return values;
}

/// A smooth blob off the centre, zero outside the cylinder along z that fits the grid's smaller side. Models of a line
/// that differ at voxel edges agree on it; a reversed line or ToF does not; and a peer that projects only that cylinder
/// loses nothing.
inline Image smooth_image(const Grid& grid) {
  Image image = Image::zeros(grid);
  const auto square = [](float value) { return value * value; };
  const Vec3 half = 0.5f * Vec3{static_cast<float>(grid.size[0]) * grid.voxel_mm.x,
                                static_cast<float>(grid.size[1]) * grid.voxel_mm.y,
                                static_cast<float>(grid.size[2]) * grid.voxel_mm.z};
  const Vec3 middle = 0.5f * (grid.centre(0, 0, 0) + grid.centre(grid.size[0] - 1, grid.size[1] - 1, grid.size[2] - 1));
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3 at = grid.centre(i, j, k) - middle;
        if (std::hypot(at.x, at.y) + std::hypot(grid.voxel_mm.x, grid.voxel_mm.y) > std::min(half.x, half.y)) continue;
        image.voxels[grid.index(i, j, k)] =
            std::exp(-0.5f * (square((at.x / half.x - 0.25f) / 0.25f) + square((at.y / half.y + 0.15f) / 0.25f) +
                              square((at.z / half.z - 0.2f) / 0.5f)));
      }
  return image;
}

/// The median of `repeats` runs after a first one, in ms; of at most 5 if a run takes more than 20 ms.
inline double median_ms(Backend backend, int repeats, const std::function<void()>& work) {
  const double first = median(time_ms(backend, 1, 1, work));
  return median(time_ms(backend, 0, first > 20 ? std::min(repeats, 5) : repeats, work));
}

/// How many of `wanted` events a double-precision reference projects in some seconds on a core or two. The references
/// of the TOR and of blobs visit every voxel for every event.
inline std::int64_t checkable_events(bool every_voxel, const Grid& grid, std::int64_t wanted,
                                     std::int64_t affordable = 2'400'000'000) {
  return every_voxel ? std::min(wanted, std::max<std::int64_t>(affordable / grid.voxels(), 16)) : wanted;
}
inline constexpr std::int64_t checked_events = 5000;  // wanted

/// The sums of an EM step by a double-precision reference: A^T (1 / (A x + c)). Every core takes its share of the
/// events.
std::vector<double> reference_em_step(const ListModeProjector& reference, const EventView& events, const Image& image);

/// A x and A^T y by a double-precision reference, computed in the same way.
struct ReferenceProjections {
  std::vector<double> forward, back;
};
ReferenceProjections reference_projections(const ListModeProjector& reference, const EventView& events,
                                           const Image& image, std::span<const float> values);

/// Normalised RMS deviation (RMS over the range of the expected values) over the voxels (or events) that either
/// touches; the others, most of a large image, would only dilute it. NaN if a result has a NaN.
double touched_nrms(std::span<const float> result, const std::vector<double>& expected);

/// The same for the sums of the fused step and the reference, for the same events in the projector's memory (`there`)
/// and on the host (`here`); `image` is on the host.
double em_step_nrms(ListModeProjector& projector, const EventView& there, const ListModeProjector& reference,
                    const EventView& here, const Image& image);

/// The same for planned projections of an image and of values of either sign.
struct ProjectionsNrms {
  double forward, back;
};
ProjectionsNrms planned_nrms(ListModeProjector& projector, const EventView& there, const ListModeProjector& reference,
                             const EventView& here, const Image& image);

/// A CPU projector whose back projections and EM steps come out larger by this share, to test that benchmarks notice a
/// wrong kernel; share 0 gives the projector itself. Throws InputError for a GPU projector.
std::unique_ptr<ListModeProjector> made_wrong(std::unique_ptr<ListModeProjector> projector, double share);

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
