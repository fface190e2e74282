// Checks settings and chooses the backend's rotation projector: see spect.hpp.
#include "kernels/spect/spect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/memory/refuse.hpp"
#include "kernels/project/view_ratio.hpp"
#include "kernels/spect/lattice.hpp"
#include "kernels/spect/spect_backends.hpp"

namespace tofstream {

namespace {

void validate_camera(const ViewSet& set) {
  set.validate();
  if (set.kind != ViewKind::camera || set.size[2] != 1)
    throw std::invalid_argument("rotation_projector takes views of a camera, and got histo-images");
  for (const ViewPlace& place : set.places)
    if (place.tilt_deg != 0)
      throw std::invalid_argument(fmt::format(
          "rotation_projector takes cameras that look across the axis, not one tilted by {} degrees", place.tilt_deg));
}

void validate_beam(const SpectSettings& settings) {
  if (settings.beam != Beam::parallel && !(std::isfinite(settings.focal_mm) && settings.focal_mm > 0))
    throw std::invalid_argument(
        fmt::format("focal_mm of a converging beam must be finite and positive, not {}", settings.focal_mm));
}

void validate_form(const SpectSettings& settings) {
  validate(settings.psf);
  if (settings.form == PsfForm::none) return;
  if (std::holds_alternative<std::monostate>(settings.psf))
    throw std::invalid_argument("psf.form needs a point spread: give its numbers, or take none");
  const bool is_gaussian = settings.form == PsfForm::separable || settings.form == PsfForm::incremental;
  if (is_gaussian && std::holds_alternative<KernelTable>(settings.psf))
    throw std::invalid_argument("psf.form separable and incremental need a Gaussian: for a table take table or fft");
}

void validate_attenuation(const SpectSettings& settings) {
  if (!settings.mu_per_mm) return;
  const Image& mu = *settings.mu_per_mm;
  validate(mu.grid);
  if (!on_host(mu.voxels.memory()) || mu.voxels.size() != mu.grid.voxels())
    throw std::invalid_argument("the mu map must be an image in host memory");
  const auto voxels = mu.voxels.span();
  if (!std::ranges::all_of(voxels, [](float value) { return std::isfinite(value) && value >= 0; }))
    throw std::invalid_argument("the mu map has values that are negative or not finite");
}

}  // namespace

void validate(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  validate(grid);
  validate_camera(set);
  validate_beam(settings);
  validate_form(settings);
  validate_attenuation(settings);
  if (!(std::isfinite(settings.counts_per_decay) && settings.counts_per_decay > 0))
    throw std::invalid_argument(
        fmt::format("counts_per_decay must be finite and positive, not {}", settings.counts_per_decay));
  const ViewLattice lattice = lattice_of(grid, set, settings);
  if (lattice.oversample > 1 && std::holds_alternative<KernelTable>(settings.psf) && settings.form != PsfForm::none)
    throw std::invalid_argument(
        fmt::format("psf.table has kernels of pixels, and voxels are smaller: take image.voxel_mm {:g}",
                    std::max(set.pixel_mm.x, set.pixel_mm.y)));
}

void add_efficiencies(ViewProjector& projector, const Views& views, float* image, Stream stream) {
  Buffer<float> efficiency(memory_of(projector.backend()), views.count, stream);
  view_efficiencies(views, efficiency.data(), projector.backend(), stream);
  projector.back(views, efficiency.data(), image, stream);
}

void require_views_of(const ViewSet& set, const Views& views) {
  if (views.views == 0 || views.set == &set) return;
  if (!(std::equal(views.set->size, views.set->size + 3, set.size) && views.set->pixel_mm == set.pixel_mm &&
        views.set->places.size() == set.places.size()))
    throw std::invalid_argument("views of another camera, or of another scan, than the projector was made for");
}

std::unique_ptr<ViewProjector> make_rotation_projector(const Grid& grid, const ViewSet& set,
                                                       const SpectSettings& settings, Backend backend) {
  validate(grid, set, settings);
  if (backend == Backend::cpu) return make_rotation_cpu(grid, set, settings);
  require_cuda();
  return make_rotation_cuda(grid, set, settings);
}

std::size_t rotation_projector_bytes(std::size_t image, PsfForm form, bool attenuation, Backend backend) {
  // In floating point, in which no size overflows.
  const auto bytes = static_cast<double>(image);
  double held = 0;
  if (backend == Backend::cpu) {
    const double group = std::max(bytes, static_cast<double>(most_bytes_of_planes_cpu));
    held = 3 * bytes + std::min(group, static_cast<double>(most_views_a_group_cpu) * bytes);
    if (attenuation) held += 2 * bytes;
    if (form == PsfForm::fft) held += 2 * bytes;  // half of each plane's frequencies, of planes with margins
  } else {
    constexpr double mib = 1 << 20, padded = 1.25, with_margins = 1.5;
    constexpr double bytes_a_footprint = 12, usual_views = 180;
    const bool is_large = image > large_image_bytes;
    const double view = with_margins * bytes, all_views = usual_views * view;
    const auto at_once = [&](double most_bytes) { return std::max(view, std::min(most_bytes, all_views)); };
    const double footprints = bytes_a_footprint * usual_views * std::pow(bytes / sizeof(float), 2.0 / 3);
    held = 2 * padded * bytes + footprints;
    if (form == PsfForm::fft || form == PsfForm::table) {
      constexpr double steps = 3;  // whose planes of a view the general projector has: before and after two of them
      held += std::max(steps * view, at_once(static_cast<double>(bytes_of_general_planes(image))));
      if (form == PsfForm::fft) held += view;  // spectra
    } else {
      held +=
          at_once((is_large ? 240 : 1024) * mib) + std::min((is_large ? 48 : 128) * mib, all_views);  // spect_cuda.cu
    }
    if (attenuation) held += (1 + padded) * bytes + footprints;
  }
  constexpr auto most = static_cast<double>(std::numeric_limits<std::size_t>::max() / 2);
  return static_cast<std::size_t>(std::min(held, most));
}

Grid choose_view_grid(const ViewSet& set, const GridWish& wish) {
  validate_camera(set);
  if (wish.blobs) throw std::invalid_argument("images of a camera have voxels, not blobs");
  const Vec3 voxel_mm = wish.voxel_mm.value_or(Vec3{set.pixel_mm.x, set.pixel_mm.x, set.pixel_mm.y});
  float half_u = 0, low_w = INFINITY, high_w = -INFINITY;
  for (const ViewPlace& place : set.places) {
    // A shift by less than a pixel adjusts a head: it sees no more by it.
    const float shift = set.pixel_mm.x * std::floor(std::abs(place.centre_u_mm) / set.pixel_mm.x);
    half_u = std::max(half_u, 0.5f * static_cast<float>(set.size[0]) * set.pixel_mm.x + shift);
    const float half_w = 0.5f * static_cast<float>(set.size[1]) * set.pixel_mm.y;
    low_w = std::min(low_w, place.centre_w_mm - half_w);
    high_w = std::max(high_w, place.centre_w_mm + half_w);
  }
  const Vec3 edges_mm = {2 * half_u, 2 * half_u, high_w - low_w};
  const Vec3 centre_mm = wish.centre_mm.value_or(Vec3{0, 0, 0.5f * (low_w + high_w)});
  std::array<int, 3> size{};
  for (int axis = 0; axis < 3; ++axis) {
    constexpr float spare = 0.05f;  // of a voxel
    const float voxels = std::max(1.0f, std::ceil(edges_mm[axis] / voxel_mm[axis] - spare));
    constexpr float most = 4096;
    if (!(voxels <= most))
      throw std::invalid_argument(
          fmt::format("image.voxel_mm of {} mm makes {:.0f} voxels of the {:.0f} mm that the camera sees along {}, and "
                      "an image may have {}",
                      voxel_mm[axis], voxels, edges_mm[axis], "xyz"[axis], most));
    size[static_cast<std::size_t>(axis)] = static_cast<int>(voxels);
  }
  return grid_about(size, voxel_mm, centre_mm);
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<ViewProjector> make_rotation_cuda(const Grid&, const ViewSet&, const SpectSettings&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
