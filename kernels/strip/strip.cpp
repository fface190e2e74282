// Checks settings and chooses the backend's strip projector: see strip.hpp.
#include "kernels/strip/strip.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/strip/strip_backends.hpp"

namespace tofstream {

namespace {

void require_length(const char* name, float value) {
  if (!(std::isfinite(value) && value > 0))
    throw std::invalid_argument(fmt::format("two strips: {} must be finite and positive (mm), not {}", name, value));
}

}  // namespace

void validate(const StripGeometry& strips, const StripResolution& resolution) {
  require_length("radius_mm", strips.radius_mm);
  require_length("length_mm", strips.length_mm);
  require_length("sigma_z_mm", resolution.sigma_z_mm);
  require_length("sigma_dl_mm", resolution.sigma_dl_mm);
  if (!(resolution.sigma_z_edge_rise >= 0 && resolution.sigma_z_edge_rise <= 10))
    throw std::invalid_argument(
        fmt::format("two strips: sigma_z_edge_rise is a relative rise in [0, 10], not {}: 0.1 is usual",
                    resolution.sigma_z_edge_rise));
  // Smallest where both ends lie at the strips' ends.
  const float end = 0.5f * strips.length_mm;
  const double determinant =
      strip_precision<double>(resolution, strips, {static_cast<double>(end), static_cast<double>(-end), 0})
          .determinant();
  if (!(determinant > 0)) {
    const double sigma = strip_sigma_z(resolution, strips, static_cast<double>(end));
    throw std::invalid_argument(
        fmt::format("two strips: gamma_per_mm2 {} leaves no covariance: it must be less than {:.3g} in size",
                    resolution.gamma_per_mm2, std::sqrt(0.5) / (sigma * static_cast<double>(resolution.sigma_dl_mm))));
  }
}

void validate(const Grid& grid, const StripSettings& settings) {
  validate(grid);
  if (grid.size[0] != 1)
    throw std::invalid_argument(
        fmt::format("two strips make an image of y and z: image.size must have 1 pixel along x, not {}", grid.size[0]));
  validate(settings.geometry, settings.resolution);
}

void require_strip_events(const EventView& events) {
  if (events.count > 0 && (events.detectors || !events.ends[2] || !events.ends[5] || !events.tof_mm))
    throw std::invalid_argument(
        "two strips: events need their ends on the strips and ToF: take them from strip_decoder");
}

std::unique_ptr<ListModeProjector> make_strip_projector(const Grid& grid, const StripSettings& settings,
                                                        Backend backend) {
  validate(grid, settings);
  if (backend == Backend::cpu) return make_strip_cpu(grid, settings);
  require_cuda();
  return make_strip_cuda(grid, settings);
}

std::string why_strips_are_slow(const Grid& grid, const StripSettings& settings) {
  validate(grid, settings);
  require_cuda();
  return settings.cuda_path == StripCudaPath::automatic ? why_strips_are_slow_on_cuda(grid, settings) : std::string();
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<ListModeProjector> make_strip_cuda(const Grid&, const StripSettings&) {
  refuse_cuda();
}
std::string why_strips_are_slow_on_cuda(const Grid&, const StripSettings&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
