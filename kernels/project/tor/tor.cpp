// Makes TOR projectors: checks what they are given, derives their constants, chooses the backend.
#include "kernels/project/tor/tor.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/project/tor/tor_backends.hpp"

namespace tofstream {

tor::Model tor::make_model(const Grid& grid, const TorSettings& settings) {
  validate(grid);
  const RadialResponse& response = settings.response;
  if (response.values().empty())
    throw std::invalid_argument("TOR projector: no radial response: give one of RadialResponse's");
  if (!(settings.tof_cut_sigma > 0) || !std::isfinite(settings.tof_cut_sigma))
    throw std::invalid_argument(
        fmt::format("TOR projector: tof_cut_sigma {}: give a positive, finite number", settings.tof_cut_sigma));
  const double radius = response.tube_radius_mm();
  const double sigma = response.gaussian_sigma_mm();
  const double volume = grid.voxel_volume();
  const bool gaussian = response.is_gaussian();
  return {.grid = grid,
          .radius_mm = radius,
          .radius2 = static_cast<float>(radius * radius),
          .gaussian = gaussian,
          .radial_rate = gaussian ? static_cast<float>(0.5 * std::numbers::log2e / (sigma * sigma)) : 0.0f,
          .table_steps_per_mm = static_cast<float>((RadialResponse::samples - 1) / radius),
          .scale = static_cast<float>(gaussian ? volume * response(0) : volume),
          .tof_cut_sigma = settings.tof_cut_sigma};
}

std::unique_ptr<Projector> make_tor_projector(const Grid& grid, const TorSettings& settings, Backend backend) {
  const tor::Model model = tor::make_model(grid, settings);
  if (backend == Backend::cpu) return tor::make_cpu(model, settings.response);
  require_cuda();
#ifdef TOFSTREAM_HAVE_CUDA
  return tor::make_cuda(model, settings.response, settings.cuda_path);
#else
  throw std::logic_error("TOR projector: this build has no CUDA");  // require_cuda has thrown
#endif
}

}  // namespace tofstream
