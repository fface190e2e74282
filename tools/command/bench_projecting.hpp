// What the benchmarks of projectors share: the TOR as papers and peers have it, an image to project, times and the
// check against the reference.
#pragma once

#include <algorithm>
#include <functional>
#include <random>

#include "kernels/analysis/compare.hpp"
#include "kernels/cuda/stopwatch.hpp"
#include "kernels/project/tor/tor.hpp"
#include "kernels/types/image.hpp"
#include "tools/command/benches.hpp"

namespace tofstream::command {

/// A Gaussian tube of the given diameter, cut at 2.74 sigma.
inline TorSettings tor_settings(const Grid& grid, double tube_width_voxels, CudaPath path) {
  const float radius =
      0.5f * static_cast<float>(tube_width_voxels) * std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
  return {.response = RadialResponse::gaussian(0.86f * radius, radius), .cuda_path = path};
}

/// Voxels uniform in [0.5, 1.5), the same at every call.
inline Image test_image(const Grid& grid) {
  Image image{grid, Buffer<float>(Memory::host, grid.voxels())};
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> value(0.5f, 1.5f);
  for (float& voxel : image.voxels.span()) voxel = value(engine);
  return image;
}

/// The median of `repeats` runs after one more, in ms; of 5 at most where a run takes more than 20 ms.
inline double median_ms(Backend backend, int repeats, const std::function<void()>& work) {
  const double first = median(time_ms(backend, 1, 1, work));
  return median(time_ms(backend, 0, first > 20 ? std::min(repeats, 5) : repeats, work));
}

/// How many of `wanted` events a double-precision reference projects in a few seconds. Those of the TOR and of blobs
/// look at every voxel for every event, by definition.
inline std::int64_t checkable_events(bool every_voxel, const Grid& grid, std::int64_t wanted) {
  constexpr std::int64_t affordable = 400'000'000;
  return every_voxel ? std::min(wanted, std::max<std::int64_t>(affordable / grid.voxels(), 16)) : wanted;
}

/// Normalised RMS deviation of the fused step's image from the reference's, for the same events in the projector's
/// memory (`there`) and on the host (`here`); `image` is on the host.
inline double em_step_nrms(Projector& projector, const EventView& there, Projector& reference, const EventView& here,
                           const Image& image) {
  const Memory memory = memory_of(projector.backend());
  const Image image_there = image.to(memory);
  Image result = Image::zeros(image.grid, memory), expected = Image::zeros(image.grid);
  projector.em_step(there, image_there.voxels.data(), result.voxels.data());
  reference.em_step(here, image.voxels.data(), expected.voxels.data());
  const Image result_here = result.to(Memory::host);
  synchronize(nullptr);
  return compare(result_here, expected).nrms;
}

}  // namespace tofstream::command
