// Makes TOR projectors: checks what they are given, derives their constants, chooses the backend.
#include "kernels/ring/tor/tor.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/ring/tor/tor_backends.hpp"

namespace tofstream {

namespace {

void check_slices(const Grid& grid, const TorSettings& settings) {
  if (settings.cuda_path == CudaPath::paper)
    throw std::invalid_argument("TOR projector: cuda_path paper does not normalise slices: give normalise: none");
  if (grid.has_blobs()) throw std::invalid_argument("TOR projector: slices of blobs are not normalised");
  const float radius = settings.response.tube_radius_mm(), least = least_slice_radius_mm(grid);
  if (radius < least)
    throw std::invalid_argument(
        fmt::format("TOR projector: a tube of radius {} mm may meet no voxel of a slice, so the slice cannot be "
                    "normalised: give at least {} mm",
                    radius, least));
}

}  // namespace

float least_slice_radius_mm(const Grid& grid) {
  const Vec3 edge = grid.voxel_mm;
  const float widest = std::max({edge.x, edge.y, edge.z}), narrowest = std::min({edge.x, edge.y, edge.z});
  const float middle = edge.x + edge.y + edge.z - widest - narrowest;
  return 0.5001f * std::hypot(widest, middle);  // half the diagonal of a voxel's largest face, and a hair
}

std::vector<tor::Model> tor::make_lattice_models(const Grid& grid, const TorSettings& settings) {
  if (settings.normalise == Normalise::slice) check_slices(grid, settings);
  std::vector<Model> models;
  for (int lattice = 0; lattice < grid.lattices(); ++lattice) {
    models.push_back(make_model(grid.lattice(lattice), settings));
    models.back().scale /= static_cast<float>(grid.lattices());
  }
  return models;
}

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
          .blob = response.blob().has_value(),
          .polynomial = response.blob().value_or(BlobPolynomial{}),
          .table_steps_per_mm = static_cast<float>((RadialResponse::samples - 1) / radius),
          .scale = static_cast<float>(gaussian ? volume * response(0) : volume),
          .tof_cut_sigma = settings.tof_cut_sigma,
          .by_slice = settings.normalise == Normalise::slice};
}

std::unique_ptr<ListModeProjector> make_tor_projector(const Grid& grid, const TorSettings& settings, Backend backend) {
  validate(grid);
  return tor::make_projector(grid, settings, backend);
}

std::unique_ptr<ListModeProjector> tor::make_projector(const Grid& grid, const TorSettings& settings, Backend backend) {
  const std::vector<Model> lattices = make_lattice_models(grid, settings);
  validate(settings.paper);
  if (backend == Backend::cpu) return make_cpu(grid, lattices, settings.response, settings.deterministic);
  require_cuda();
  if (settings.cuda_path == CudaPath::paper) {
    if (settings.deterministic)
      throw std::invalid_argument("TOR projector: cuda_path paper adds in any order: it cannot be deterministic");
    return make_paper(grid, settings);
  }
  return make_cuda(grid, lattices, settings.response, settings.cuda_path, settings.deterministic);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<ListModeProjector> tor::make_cuda(const Grid&, const std::vector<Model>&, const RadialResponse&,
                                                  CudaPath, bool) {
  refuse_cuda();
}
std::unique_ptr<ListModeProjector> tor::make_paper(const Grid&, const TorSettings&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
