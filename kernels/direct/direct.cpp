// Checks settings and chooses the projector of histo-images: see direct.hpp.
#include "kernels/direct/direct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/direct/direct_backends.hpp"
#include "kernels/direct/paper_two_stage.hpp"
#include "kernels/direct/two_stage.hpp"
#include "kernels/math/units.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

void validate_histo_set(const Grid& grid, const ViewSet& set, HistoLattice kind) {
  set.validate();
  if (set.kind != ViewKind::histo_image)
    throw std::invalid_argument("direct_projector takes histo-images, and got views of a camera");
  const DirectLattice lattice = DirectLattice::of(grid, kind, {});
  const Vec3d apart = set.pixel_mm.as<double>() - lattice.spacing_mm;
  constexpr double rounding = 1e-5;
  const bool is_spacing = std::abs(apart.x) < rounding && std::abs(apart.y) < rounding && std::abs(apart.z) < rounding;
  if (!(std::equal(set.size, set.size + 3, lattice.size) && is_spacing))
    throw std::invalid_argument(fmt::format(
        "histo-images of {} x {} x {} points of {:g} x {:g} x {:g} mm, where the image asks for {} x {} x {} of {:g} x "
        "{:g} x {:g} mm",
        set.size[0], set.size[1], set.size[2], set.pixel_mm.x, set.pixel_mm.y, set.pixel_mm.z, lattice.size[0],
        lattice.size[1], lattice.size[2], lattice.spacing_mm.x, lattice.spacing_mm.y, lattice.spacing_mm.z));
}

void require_within(const char* name, double fwhm_mm, double image_mm) {
  if (fwhm_mm > image_mm)
    throw std::invalid_argument(
        fmt::format("{}: a kernel of {:g} mm FWHM is wider than the image's {:g} mm", name, fwhm_mm, image_mm));
}

void require_inside_image(const Grid& grid, const DirectKernel& kernel) {
  const Vec3d edge = grid.voxel_mm.as<double>();
  const double across_mm = std::max(grid.size[0] * edge.x, grid.size[1] * edge.y);
  require_within("kernel.tof_sigma_mm", static_cast<double>(kernel.tof_sigma_mm) * fwhm_per_sigma, across_mm);
  if (kernel.table.empty())
    for (const RadialWidth& width : kernel.radial)
      require_within("kernel.radial", static_cast<double>(width.fwhm_mm), across_mm);
  for (const std::vector<float>& row : kernel.table.rows)
    if (const double mm = static_cast<double>(row.size() - 1) * static_cast<double>(kernel.table.offset_step_mm);
        mm > across_mm)
      throw std::invalid_argument(fmt::format(
          "a radial table has values over {:g} mm, and the image is {:g} mm wide: leave out values of 0 at its ends",
          mm, across_mm));
  require_within("kernel.axial_fwhm_mm", static_cast<double>(kernel.axial_fwhm_mm), grid.size[2] * edge.z);
}

void require_image_lattice(const char* method, HistoLattice lattice) {
  if (lattice != HistoLattice::image)
    throw std::invalid_argument(fmt::format(
        "operator {} takes histo-images on the image's lattice: take lattice image, or operator two_stage", method));
}

void require_lattice_of_paper_scheme(const DirectSettings& settings) {
  if (settings.lattice != HistoLattice::image)
    throw std::invalid_argument(
        "scheme paper takes histo-images on the image's lattice: take lattice image, or scheme footprint");
}

void require_resampled(const char* name, double fwhm_mm, double least_voxels, double edge_mm) {
  constexpr double rounding = 1e-6;
  if (fwhm_mm < (1 - rounding) * least_voxels * edge_mm)
    throw std::invalid_argument(fmt::format(
        "{} of {:g} mm FWHM is narrower than two_stage can sample ({:g} voxels, {:g} mm): take operator one_stage",
        name, fwhm_mm, least_voxels, least_voxels * edge_mm));
}

void validate_two_stage(const Grid& grid, const ViewSet& set, const DirectSettings& settings) {
  const DirectKernel& kernel = settings.kernel;
  const double across_mm = static_cast<double>(std::min(grid.voxel_mm.x, grid.voxel_mm.y));
  for (const RadialWidth& width : kernel.radial)
    for (const RadialPart& part : kernel.parts)
      if (part.weight > 0)
        require_resampled("kernel.radial",
                          fwhm_per_sigma * radial_sigma_mm(kernel, static_cast<double>(width.fwhm_mm), part),
                          least_resampled_fwhm, across_mm);
  // On the views' lattices the axial factor is sampled once, at any place between rows.
  constexpr double least_sampled_fwhm = 0.5;
  require_resampled("kernel.axial_fwhm_mm", static_cast<double>(kernel.axial_fwhm_mm),
                    settings.lattice == HistoLattice::view ? least_sampled_fwhm : least_resampled_fwhm,
                    static_cast<double>(grid.voxel_mm.z));
  if (settings.scheme == TwoStageScheme::paper) return validate_paper_scheme(grid, kernel);
  if (std::ranges::any_of(set.places, [](const ViewPlace& place) { return place.tilt_deg != 0; }))
    require_resampled("in tilted views kernel.axial_fwhm_mm", static_cast<double>(kernel.axial_fwhm_mm),
                      least_resampled_fwhm, std::max(across_mm, static_cast<double>(grid.voxel_mm.z)));
  DirectKernel of_axis = kernel;  // the rest of the ToF response does not depend on the radius
  of_axis.radial.resize(1);
  const RadialProfiles profiles(of_axis, 0);
  for (const ViewPlace& place : set.places) {
    const ViewFrame frame = ViewFrame::of(static_cast<double>(place.angle_deg), static_cast<double>(place.tilt_deg));
    if (TwoStageSplit(grid, frame, of_axis, profiles, settings.lattice).rest_sigma_mm == 0)
      throw std::invalid_argument(fmt::format(
          "kernel.tof_sigma_mm of {:g} mm is narrower than two_stage can sample on points {:g} mm apart: take operator "
          "one_stage",
          kernel.tof_sigma_mm, across_mm));
  }
}

void validate_fft(const DirectSettings& settings) {
  if (!settings.kernel.table.empty() && settings.fft_spectrum == FftSpectrum::analytic)
    throw std::invalid_argument(
        "the analytic spectrum is that of a Gaussian: for a radial table take fft_spectrum sampled");
  if (!settings.kernel.is_invariant() || !settings.kernel.is_symmetric())
    throw std::invalid_argument(
        "operator fft needs one kernel for all voxels: give kernel.radial one width and no shift, or take operator "
        "one_stage");
}

}  // namespace

ViewSet direct_view_set(const Grid& grid, const DirectViews& views, HistoLattice lattice) {
  validate(grid);
  validate(views);
  const DirectLattice points = DirectLattice::of(grid, lattice, {});
  ViewSet set;
  set.kind = ViewKind::histo_image;
  std::copy_n(points.size, 3, set.size);
  set.pixel_mm = points.spacing_mm.as<float>();
  for (int v = 0; v < views.count(); ++v)
    set.places.push_back(
        {.angle_deg = static_cast<float>(views.azimuth_deg(v)), .tilt_deg = static_cast<float>(views.tilt_deg(v))});
  set.histo.lie_along_view = lattice == HistoLattice::view;
  set.histo.centre_mm = DirectLattice::of(grid, HistoLattice::image, {}).centre_mm.as<float>();
  set.histo.acceptance_deg = views.acceptance_deg;
  return set;
}

DirectViews direct_views_of(const ViewSet& set) {
  const auto tilt = [](const ViewPlace& place) { return place.tilt_deg; };
  const int places = static_cast<int>(set.places.size());
  const auto azimuths = set.places.empty() ? 0 : std::ranges::count(set.places, tilt(set.places.front()), tilt);
  DirectViews views{.azimuths = static_cast<int>(azimuths),
                    .tilts = azimuths > 0 ? places / static_cast<int>(azimuths) : 0,
                    .acceptance_deg = set.histo.acceptance_deg};
  bool is_of_these = set.kind == ViewKind::histo_image && views.acceptance_deg > 0 && views.count() == places;
  constexpr double rounding_deg = 1e-3;
  for (int v = 0; is_of_these && v < places; ++v) {
    const ViewPlace& place = set.places[static_cast<std::size_t>(v)];
    is_of_these = std::abs(static_cast<double>(place.angle_deg) - views.azimuth_deg(v)) < rounding_deg &&
                  std::abs(static_cast<double>(place.tilt_deg) - views.tilt_deg(v)) < rounding_deg;
  }
  if (!is_of_these)
    throw std::invalid_argument(
        "the views are not those of intervals of azimuth and co-polar angle: take histo-images as histo_deposit makes "
        "them");
  validate(views);
  return views;
}

void validate(const DirectSettings& settings) {
  validate(settings.kernel);
  const bool is_two_stage = settings.method == DirectOperator::two_stage;
  if (settings.scheme == TwoStageScheme::paper && !is_two_stage)
    throw std::invalid_argument("scheme paper is one of operator two_stage: take that operator, or leave scheme out");
  if (is_two_stage && !settings.kernel.table.empty())
    throw std::invalid_argument("two_stage resamples by Gaussians: for a radial table take operator one_stage");
  if (settings.method == DirectOperator::fft) validate_fft(settings);
}

void validate(const Grid& grid, const ViewSet& set, const DirectSettings& settings) {
  validate(grid);
  validate(settings);
  validate_histo_set(grid, set, settings.lattice);
  require_inside_image(grid, settings.kernel);
  if (settings.scheme == TwoStageScheme::paper) require_lattice_of_paper_scheme(settings);
  if (settings.method == DirectOperator::two_stage) validate_two_stage(grid, set, settings);
  if (settings.method == DirectOperator::one_stage) require_image_lattice("one_stage", settings.lattice);
  if (settings.method == DirectOperator::fft) require_image_lattice("fft", settings.lattice);
}

std::unique_ptr<ViewProjector> make_direct_projector(const Grid& grid, const ViewSet& set,
                                                     const DirectSettings& settings, Backend backend) {
  validate(grid, set, settings);
  const bool is_cuda = backend == Backend::cuda;
  if (is_cuda) require_cuda();
  switch (settings.method) {
    case DirectOperator::one_stage:
      return is_cuda ? make_one_stage_cuda(grid, set, settings) : make_one_stage_cpu(grid, set, settings);
    case DirectOperator::fft:
      return is_cuda ? make_direct_fft_cuda(grid, set, settings) : make_direct_fft_cpu(grid, set, settings);
    case DirectOperator::two_stage:
      break;
  }
  if (settings.scheme == TwoStageScheme::paper)
    return is_cuda ? make_paper_two_stage_cuda(grid, set, settings) : make_paper_two_stage_cpu(grid, set, settings);
  return is_cuda ? make_two_stage_cuda(grid, set, settings) : make_two_stage_cpu(grid, set, settings);
}

std::size_t direct_projector_bytes(std::size_t image, DirectOperator method, Backend backend) {
  constexpr std::size_t images_of_columns = 8, images_of_spectra = 64, tables_of_points = std::size_t{128} << 20;
  const std::size_t most = std::numeric_limits<std::size_t>::max() / (2 * images_of_spectra);
  const std::size_t bytes = std::min(image, most);
  if (backend == Backend::cpu) return bytes * (method == DirectOperator::fft ? images_of_spectra : images_of_columns);
  switch (method) {
    case DirectOperator::one_stage:
      return bytes * images_of_columns + most_bytes_of_direct_stages + tables_of_points;
    case DirectOperator::fft:
      return bytes * images_of_columns + 3 * most_bytes_of_direct_volumes + most_bytes_of_direct_spectra;
    case DirectOperator::two_stage:
      break;
  }
  return bytes * images_of_columns + most_bytes_of_direct_stages + most_bytes_of_direct_tables;
}

#ifndef TOFSTREAM_HAVE_CUDA
std::unique_ptr<ViewProjector> make_two_stage_cuda(const Grid&, const ViewSet&, const DirectSettings&) {
  refuse_cuda();
}
std::unique_ptr<ViewProjector> make_paper_two_stage_cuda(const Grid&, const ViewSet&, const DirectSettings&) {
  refuse_cuda();
}
std::unique_ptr<ViewProjector> make_one_stage_cuda(const Grid&, const ViewSet&, const DirectSettings&) {
  refuse_cuda();
}
std::unique_ptr<ViewProjector> make_direct_fft_cuda(const Grid&, const ViewSet&, const DirectSettings&) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
