// The projectors of DIRECT as a gadget.
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/direct/io/radial_table_yaml.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/step/view_projector_kinds.hpp"
#include "kernels/direct/deposit.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/direct/reference.hpp"
#include "kernels/math/units.hpp"

namespace tofstream {

constexpr auto enum_names(DirectOperator) {
  return names(DirectOperator::two_stage, "two_stage", DirectOperator::one_stage, "one_stage", DirectOperator::fft,
               "fft");
}
constexpr auto enum_names(FftEnds) {
  return names(FftEnds::padded, "padded", FftEnds::periodic, "periodic");
}
constexpr auto enum_names(TwoStageScheme) {
  return names(TwoStageScheme::footprint, "footprint", TwoStageScheme::paper, "paper");
}
constexpr auto enum_names(FftSpectrum) {
  return names(FftSpectrum::sampled, "sampled", FftSpectrum::analytic, "analytic");
}

namespace {

/// `parts: [{weight: 1, width: 2, shift: 1}]`
struct RadialPartParams {
  float weight = 1, width = 1, shift = 0;
  static constexpr auto params = describe(
      param<&RadialPartParams::weight>("weight", range(0, 1e6), "Its share of the kernel, over the sum of all weights"),
      param<&RadialPartParams::width>("width", range(0.01, 100), "Its width, in widths of the LOR"),
      param<&RadialPartParams::shift>("shift", range(-100, 100),
                                      "How far its middle lies towards the axis, in sigmas of the LOR"));
};

struct DirectProjectorGadget {
  struct Params {
    DirectOperator method = DirectOperator::two_stage;
    std::optional<float> tof_fwhm_ps;
    float lor_fwhm_mm = 5.8f;
    std::vector<std::array<float, 2>> lor_fwhm_at_mm;
    std::optional<float> axial_fwhm_mm;
    std::vector<RadialPartParams> parts;
    std::filesystem::path lor_table;
    bool deposit_kernel = false;
    float cut_sigma = 4;
    FftEnds fft_ends = FftEnds::padded;
    FftSpectrum fft_spectrum = FftSpectrum::sampled;
    TwoStageScheme scheme = TwoStageScheme::footprint;
    bool log_likelihood = false;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::method>("operator",
                             "two_stage: resampled along the view, then convolved along it; one_stage: a table of the "
                             "kernel's points, for any kernel and lattice: image; fft: one kernel for all voxels and "
                             "lattice: image"),
      param<&Params::tof_fwhm_ps>("tof_fwhm_ps", range(1, 1e5), unit("ps"),
                                  "Coincidence resolution along the view, in place of the events' own and the width of "
                                  "their bins; the log warns where it differs from these by more than 3 %. None: that "
                                  "of the events"),
      param<&Params::lor_fwhm_mm>("lor_fwhm_mm", range(0.1, 1000), unit("mm"),
                                  "Width of the kernel across the view; the papers have 5.8 for crystals of 4 mm"),
      param<&Params::lor_fwhm_at_mm>("lor_fwhm_at_mm", range(0, 1e4), unit("mm"),
                                     "Instead: [[radius, width], ...] for voxels so far from the axis, linear between "
                                     "ascending radii"),
      param<&Params::axial_fwhm_mm>("axial_fwhm_mm", range(0.1, 1000), unit("mm"),
                                    "Width of the kernel along the axis; none: lor_fwhm_mm, or the first width of the "
                                    "list"),
      param<&Params::parts>(
          "parts",
          "Gaussians that sum to the kernel across the view, for one that is not symmetric; none: one "
          "Gaussian of the LOR's width"),
      param<&Params::lor_table>(
          "lor_table", reads_file,
          "YAML of a kernel across the view by its values, for operators one_stage and fft: "
          "offset_step_mm, radius_step_mm and rows: [{values: [..]}, ..] (tofstream docs direct)"),
      param<&Params::deposit_kernel>("deposit_kernel",
                                     "The kernel has the deposit's blur too: a variance of 1/6 (linear) or 1/12 "
                                     "(nearest) of the points' spacing squared along each axis"),
      param<&Params::cut_sigma>("cut_sigma", range(1, 8), "Where kernels end; they keep their sum"),
      param<&Params::fft_ends>("fft_ends",
                               "padded: beyond the image is nothing; periodic: what leaves it comes in from the other "
                               "side, as published"),
      param<&Params::fft_spectrum>("fft_spectrum", "sampled: the very kernel; analytic: as published, with ripples"),
      param<&Params::scheme>("scheme",
                             "Of two_stage. footprint: the resampling is the kernel across the view; paper: as "
                             "published, for comparison: a rotation, an elliptic Gaussian and a rotation back, on "
                             "lattice: image"),
      param<&Params::log_likelihood>("log_likelihood", "Report the log-likelihood of each update"),
      param<&Params::backend>("backend", "Where the projector runs"));

  static std::unique_ptr<ViewProjector> make(const Params& p, const Grid& grid, Backend backend, const ViewSet& views,
                                             Context& context) {
    return make_direct_projector(grid, views, checked_settings(p, grid, views, context), backend);
  }
  static std::unique_ptr<DirectReference> make_reference(const Params& p, const Grid& grid, const ViewSet& views,
                                                         Context& context) {
    const DirectSettings made = checked_settings(p, grid, views, context);
    // Only one_stage cuts the kernel where it says; the others approximate all of it.
    const auto cut = made.method == DirectOperator::one_stage ? ReferenceCut::ellipsoid : ReferenceCut::none;
    return std::make_unique<DirectReference>(grid, views, made, cut);
  }
  /// The image that the histo-images are for; square where their lattice does not tell its shorter side.
  static Grid grid(const ViewSet& views, const GridWish& wish) {
    if (wish.blobs) throw std::invalid_argument("images of histo-images have voxels, not blobs");
    return grid_about({views.size[0], views.size[1], views.size[2]}, wish.voxel_mm.value_or(views.pixel_mm),
                      wish.centre_mm.value_or(views.histo.centre_mm));
  }
  static ViewCalibration calibration(const Params&) {
    return {
        .keeps_unit = true,
        .remedy = "histo_deposit takes mu_map and randoms, direct_scatter estimates scatter: tofstream docs direct"};
  }
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    return direct_projector_bytes(image, p.method, wants_cuda(p.backend) ? Backend::cuda : Backend::cpu);
  }
  static void check(const Params& p) {
    DirectSettings settings = settings_without_data(p);
    settings.kernel.tof_sigma_mm = 1;  // the events may have it
    validate(settings);
    if (p.deposit_kernel) with_deposit(std::move(settings.kernel), deposit_variance(DepositKind::linear), {1, 1, 1});
  }

 private:
  static constexpr double mm_of_ps = 0.5 * speed_of_light_mm_ps / fwhm_per_sigma;  // a sigma of a width

  static DirectSettings checked_settings(const Params& p, const Grid& grid, const ViewSet& views, Context& context) {
    require_same_centre(grid, views);
    const DirectSettings made = settings(p, views);
    if (p.tof_fwhm_ps) warn_of_other_tof(*p.tof_fwhm_ps, views.histo.tof_sigma_mm, context);
    context.report("tof_fwhm_mm", static_cast<double>(made.kernel.tof_sigma_mm) * fwhm_per_sigma);
    return made;
  }
  static DirectKernel kernel_of(const Params& p) {
    DirectKernel kernel{.cut_sigma = p.cut_sigma};
    for (const auto& [radius_mm, fwhm_mm] : p.lor_fwhm_at_mm) kernel.radial.push_back({radius_mm, fwhm_mm});
    if (kernel.radial.empty()) kernel.radial.push_back({0, p.lor_fwhm_mm});
    kernel.axial_fwhm_mm = p.axial_fwhm_mm.value_or(kernel.radial.front().fwhm_mm);
    if (!p.parts.empty()) kernel.parts.clear();
    for (const RadialPartParams& part : p.parts) kernel.parts.push_back({part.weight, part.width, part.shift});
    if (p.lor_table.empty()) return kernel;
    if (!p.parts.empty() || !p.lor_fwhm_at_mm.empty())
      throw std::invalid_argument("lor_table is the whole kernel across the view: leave out parts and lor_fwhm_at_mm");
    kernel.table = formats::read_radial_table(p.lor_table);
    return kernel;
  }

  static DirectSettings settings_without_data(const Params& p) {
    return {.kernel = kernel_of(p),
            .method = p.method,
            .fft_ends = p.fft_ends,
            .fft_spectrum = p.fft_spectrum,
            .scheme = p.scheme};
  }

  static DirectSettings settings(const Params& p, const ViewSet& views) {
    DirectSettings made = settings_without_data(p);
    made.lattice = views.histo.lie_along_view ? HistoLattice::view : HistoLattice::image;
    made.kernel.tof_sigma_mm = views.histo.tof_sigma_mm;
    if (p.tof_fwhm_ps) made.kernel.tof_sigma_mm = static_cast<float>(mm_of_ps * static_cast<double>(*p.tof_fwhm_ps));
    if (!(made.kernel.tof_sigma_mm > 0))
      throw std::invalid_argument("tof_fwhm_ps: the histo-images do not say their events' resolution: give it");
    if (!p.deposit_kernel) return made;
    if (!(views.histo.deposit_variance > 0))
      throw std::invalid_argument(
          "deposit_kernel: the histo-images do not say how events were deposited: leave it out, and give widths that "
          "have the deposit's blur");
    made.kernel = with_deposit(std::move(made.kernel), views.histo.deposit_variance, views.pixel_mm);
    return made;
  }

  // Where another resolution is wanted, as for a point spread that was measured, this is not an error.
  static void warn_of_other_tof(float asked_ps, float events_sigma_mm, Context& context) {
    constexpr double alike = 0.03;
    const double events_ps = static_cast<double>(events_sigma_mm) / mm_of_ps;
    if (!(events_ps > 0) || std::abs(static_cast<double>(asked_ps) - events_ps) <= alike * events_ps) return;
    context.report("tof_fwhm_mm_of_events", static_cast<double>(events_sigma_mm) * fwhm_per_sigma);
    context.log().warning(fmt::format(
        "tof_fwhm_ps: {:g} ps takes the place of {:.4g} ps, which the histo-images say of their events, with "
        "the width of their bins: leave it out for the latter",
        asked_ps, events_ps));
  }

  static void require_same_centre(const Grid& grid, const ViewSet& views) {
    constexpr float close_mm = 1e-2f;
    for (int axis = 0; axis < 3; ++axis) {
      const float centre = grid.origin_mm[axis] + 0.5f * static_cast<float>(grid.size[axis] - 1) * grid.voxel_mm[axis];
      if (std::abs(centre - views.histo.centre_mm[axis]) > close_mm)
        throw std::invalid_argument(fmt::format(
            "the histo-images are for an image about {:g} mm along {}, and this one's centre is at {:g} mm: "
            "put one image at the pipeline's top",
            views.histo.centre_mm[axis], "xyz"[axis], centre));
    }
  }
};

TOFSTREAM_VIEW_PROJECTOR(DirectProjectorGadget, "direct_projector",
                         "Projects histo-images (DIRECT): the image convolved with each view's ToF, radial and axial "
                         "kernel");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
