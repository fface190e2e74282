// The resolution by radius and z on the CPU, and its tables of weights: see psf_operator.hpp.
#include "kernels/psf/psf_operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/filter/gaussian_psf.hpp"
#include "kernels/math/units.hpp"
#include "kernels/memory/refuse.hpp"
#include "kernels/psf/transverse_weights.hpp"

namespace tofstream {
namespace {

constexpr std::size_t most_weight_bytes = std::size_t{8} << 30;

void check_bytes(std::int64_t profiles, std::int64_t taps, std::int64_t plane) {
  const double bytes = static_cast<double>(sizeof(float)) * static_cast<double>(profiles) * static_cast<double>(taps) *
                       static_cast<double>(plane);
  if (bytes > static_cast<double>(most_weight_bytes))
    throw std::invalid_argument(fmt::format(
        "the widths reach over {} voxels, which takes {:.1f} GiB of weights: take larger voxels, or fewer z in "
        "the table",
        taps, bytes / 1073741824.0));
}

/// Sigma over the voxel's edge.
double sigma_in(double fwhm_mm, float edge_mm) {
  return fwhm_mm / fwhm_per_sigma / static_cast<double>(edge_mm);
}

/// to += the tap's part of row (y, z), for the forward blur or its adjoint.
void add_tap(const TapStage& stage, int tap, bool is_adjoint, int y, int z, const float* from, float* to) {
  const Tap& d = stage.offsets[tap];
  const int sign = is_adjoint ? 1 : -1;
  const int dx = sign * d.x, from_y = y + sign * d.y, from_z = z + sign * d.z;
  if (!stage.holds(0, from_y, from_z)) return;
  const int first = std::max(0, -dx), end = std::min(stage.size[0], stage.size[0] - dx);
  const float* const values = from + stage.index(0, from_y, from_z) + dx;
  // Weights are those of the source: the voxel that is read, or for the adjoint the one that is written.
  const int source_y = is_adjoint ? y : from_y, source_z = is_adjoint ? z : from_z, source_dx = is_adjoint ? 0 : dx;
  const float* const below = stage.row(stage.lower[source_z], tap, source_y) + source_dx;
  const float part = stage.part[source_z];
  if (part > 0) {
    const float* const above = stage.row(stage.lower[source_z] + 1, tap, source_y) + source_dx;
    for (int x = first; x < end; ++x) to[x] += (below[x] + part * (above[x] - below[x])) * values[x];
  } else {
    for (int x = first; x < end; ++x) to[x] += below[x] * values[x];
  }
}

}  // namespace

TapStage PsfOperator::Stage::view(const Grid& grid) const {
  return {{grid.size[0], grid.size[1], grid.size[2]},
          reach,
          profiles,
          static_cast<int>(offsets.size()),
          offsets.data(),
          weights.data(),
          lower.data(),
          part.data()};
}

void PsfOperator::Stage::bring_to(Memory memory) {
  offsets = offsets.to(memory);
  weights = weights.to(memory);
  lower = lower.to(memory);
  part = part.to(memory);
}

PsfOperator::PsfOperator(const Grid& grid, const ResolutionTable& table, Backend backend)
    : ImageOperator(grid, backend) {
  validate(grid);
  if (backend == Backend::cuda) require_cuda();
  axial_ = axial_stage(grid, table);
  transverse_ = transverse_stage(grid, table);
  if (backend == Backend::cpu) return;
  detail::require_shared_memory(transverse_.view(grid));
  axial_.bring_to(Memory::device);
  transverse_.bring_to(Memory::device);
  synchronize(nullptr);
}

// Between which profiles each slice lies.
void PsfOperator::mix_slices(const Grid& grid, const ResolutionTable& table, Stage& stage) {
  const std::vector<double>& nodes = table.z_mm();
  stage.profiles = static_cast<int>(nodes.size());
  stage.lower = Buffer<int>(Memory::host, grid.size[2]);
  stage.part = Buffer<float>(Memory::host, grid.size[2]);
  for (int k = 0; k < grid.size[2]; ++k) {
    const double z = static_cast<double>(grid.centre(0, 0, k).z);
    const auto above = std::ranges::upper_bound(nodes, z);
    const bool is_between = above != nodes.begin() && above != nodes.end();
    stage.lower[k] = static_cast<int>(std::max<std::ptrdiff_t>(0, above - nodes.begin() - 1));
    stage.part[k] = is_between ? static_cast<float>((z - *(above - 1)) / (*above - *(above - 1))) : 0.0f;
  }
}

PsfOperator::Stage PsfOperator::axial_stage(const Grid& grid, const ResolutionTable& table) {
  const int profiles = static_cast<int>(table.z_mm().size());
  const std::int64_t plane = std::int64_t{grid.size[0]} * grid.size[1];
  std::vector<std::vector<float>> of(static_cast<std::size_t>(profiles * plane));
  tbb::parallel_for(std::int64_t{0}, profiles * plane, [&](std::int64_t i) {
    const auto profile = static_cast<std::size_t>(i / plane);
    const Vec3 centre =
        grid.centre(static_cast<int>(i % plane % grid.size[0]), static_cast<int>(i % plane / grid.size[0]), 0);
    const double r = std::hypot(static_cast<double>(centre.x), static_cast<double>(centre.y));
    of[static_cast<std::size_t>(i)] = gaussian_weights(sigma_in(table.at(profile, r).axial_mm, grid.voxel_mm.z));
  });
  std::size_t longest = 1;
  for (const auto& weights : of) longest = std::max(longest, weights.size());
  const int reach = std::min(static_cast<int>(longest) - 1, grid.size[2] - 1), taps = 2 * reach + 1;
  check_bytes(profiles, taps, plane);
  Stage stage{Buffer<Tap>(Memory::host, taps), Buffer<float>::zeros(Memory::host, profiles * taps * plane), {}, {}};
  stage.reach = {0, 0, reach};
  for (int tap = 0; tap < taps; ++tap) stage.offsets[tap] = {0, 0, tap - reach};
  for (std::int64_t i = 0; i < profiles * plane; ++i) {
    const auto& weights = of[static_cast<std::size_t>(i)];
    for (int tap = 0; tap < taps; ++tap) {
      const auto away = static_cast<std::size_t>(std::abs(tap - reach));
      if (away < weights.size()) stage.weights[(i / plane * taps + tap) * plane + i % plane] = weights[away];
    }
  }
  mix_slices(grid, table, stage);
  return stage;
}

PsfOperator::Stage PsfOperator::transverse_stage(const Grid& grid, const ResolutionTable& table) {
  const int profiles = static_cast<int>(table.z_mm().size());
  const std::int64_t plane = std::int64_t{grid.size[0]} * grid.size[1];
  const auto fwhm_of = [&](std::int64_t i, Vec3& centre) {
    centre = grid.centre(static_cast<int>(i % plane % grid.size[0]), static_cast<int>(i % plane / grid.size[0]), 0);
    return table.at(static_cast<std::size_t>(i / plane),
                    std::hypot(static_cast<double>(centre.x), static_cast<double>(centre.y)));
  };
  double widest = 0;
  for (std::int64_t i = 0; i < profiles * plane; ++i) {
    Vec3 centre;
    const Resolution fwhm = fwhm_of(i, centre);
    widest = std::max({widest, fwhm.radial_mm, fwhm.tangential_mm});
  }
  const TransverseWindow window(sigma_in(widest, grid.voxel_mm.x), sigma_in(widest, grid.voxel_mm.y));
  const std::int64_t taps = window.taps();
  check_bytes(profiles, taps, plane);
  Stage stage{Buffer<Tap>(Memory::host, taps), Buffer<float>(Memory::host, profiles * taps * plane), {}, {}};
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const Tap offset{window.x(tap), window.y(tap), 0};
    stage.offsets[tap] = offset;
    stage.reach = {std::max(stage.reach.x, offset.x), std::max(stage.reach.y, offset.y), 0};
  }
  tbb::parallel_for(std::int64_t{0}, profiles * plane, [&](std::int64_t i) {
    Vec3 centre;
    const Resolution fwhm = fwhm_of(i, centre);
    const TransverseCovariance wanted = covariance_of(fwhm, centre, grid.voxel_mm);
    const std::vector<double> weights = transverse_weights(window, wanted);
    for (std::int64_t tap = 0; tap < taps; ++tap)
      stage.weights[(i / plane * taps + tap) * plane + i % plane] =
          static_cast<float>(weights[static_cast<std::size_t>(tap)]);
  });
  mix_slices(grid, table, stage);
  return stage;
}

Image PsfOperator::forward_of(const Image& x) const {
  return through(transverse_, through(axial_, x, false), false);
}

Image PsfOperator::adjoint_of(const Image& y) const {
  return through(axial_, through(transverse_, y, true), true);
}

Image PsfOperator::through(const Stage& stage, const Image& from, bool is_adjoint) const {
  const TapStage view = stage.view(grid());
  if (backend() == Backend::cuda) {
    Image to{grid(), Buffer<float>(Memory::device, grid().voxels())};
    detail::tap_stage_cuda(view, is_adjoint, from.voxels.data(), to.voxels.data(), nullptr);
    return to;
  }
  Image to = Image::zeros(grid());
  tbb::parallel_for(0, grid().size[1] * grid().size[2], [&](int row) {
    const int y = row % grid().size[1], z = row / grid().size[1];
    for (int tap = 0; tap < view.taps; ++tap)
      add_tap(view, tap, is_adjoint, y, z, from.voxels.data(), to.voxels.data() + view.index(0, y, z));
  });
  return to;
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::require_shared_memory(const TapStage&) {
  refuse_cuda();
}
void detail::tap_stage_cuda(const TapStage&, bool, const float*, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
