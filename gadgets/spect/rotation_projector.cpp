// The rotation projector of SPECT as a gadget.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/spect/io/camera_yaml.hpp"
#include "gadgets/spect/spect_parameters.hpp"
#include "gadgets/step/view_projector_kinds.hpp"
#include "kernels/math/units.hpp"
#include "kernels/spect/inside_body.hpp"
#include "kernels/spect/reference.hpp"
#include "kernels/spect/spect.hpp"

namespace tofstream {

enum class PsfFormChoice { automatic, none, separable, incremental, fft, table };
constexpr auto enum_names(PsfFormChoice) {
  return names(PsfFormChoice::automatic, "auto", PsfFormChoice::none, "none", PsfFormChoice::separable, "separable",
               PsfFormChoice::incremental, "incremental", PsfFormChoice::fft, "fft", PsfFormChoice::table, "table");
}
constexpr auto enum_names(Rotation) {
  return names(Rotation::automatic, "auto", Rotation::interpolating, "interpolating", Rotation::conserving,
               "conserving");
}
constexpr auto enum_names(AdjointKind) {
  return names(AdjointKind::exact, "exact", AdjointKind::paper, "paper");
}
enum class ImageSupport { cylinder, box };
constexpr auto enum_names(ImageSupport) {
  return names(ImageSupport::cylinder, "cylinder", ImageSupport::box, "box");
}

namespace {

struct RotationProjector {
  struct Params {
    std::string scanner;
    PsfParams psf;
    PsfFormChoice psf_form = PsfFormChoice::automatic;
    Rotation rotation = Rotation::automatic;
    AdjointKind adjoint = AdjointKind::exact;
    std::filesystem::path mu_map;
    ImageSupport support = ImageSupport::cylinder;
    std::optional<double> cps_per_MBq;
    bool log_likelihood = false;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", reads_one_of("scanners"), camera_words),
      param<&Params::psf>("psf", "Point spread in place of the camera's"),
      param<&Params::psf_form>("psf_form",
                               "How it is applied. auto: separable for Gaussians, table for a table; incremental: a "
                               "Gaussian from plane to plane; fft: any; none: no point spread"),
      param<&Params::rotation>("rotation",
                               "interpolating keeps flat images flat; conserving keeps each voxel's counts, for "
                               "voxels smaller than a pixel; auto: interpolating"),
      param<&Params::adjoint>("adjoint", "exact; paper: a second interpolation and the same kernel, which is none"),
      param<&Params::mu_map>("mu_map", reads_file,
                             "NIfTI of attenuation (1/cm) at the photons' energy, on any grid; none: no attenuation"),
      param<&Params::support>("support",
                              "cylinder: the image is the cylinder in its grid, which all views see; box: all of it"),
      param<&Params::cps_per_MBq>("cps_per_MBq", range(1e-6, 1e6), unit("1/(s MBq)"),
                                  "Counts a second of 1 MBq in air; none: the camera's, or no absolute scale"),
      param<&Params::log_likelihood>("log_likelihood", "Report the log-likelihood of each update"),
      param<&Params::backend>("backend", "Where the projector runs"));

  static std::unique_ptr<ViewProjector> make(const Params& p, const Grid& grid, Backend backend, const ViewSet& views,
                                             Context& context) {
    return make_rotation_projector(grid, views, checked_settings(p, grid, views, context), backend);
  }
  static std::unique_ptr<RotationReference> make_reference(const Params& p, const Grid& grid, const ViewSet& views,
                                                           Context& context) {
    return std::make_unique<RotationReference>(grid, views, checked_settings(p, grid, views, context));
  }
  static Grid grid(const ViewSet& views, const GridWish& wish) { return choose_view_grid(views, wish); }
  static ViewCalibration calibration(const Params& p) {
    ViewCalibration made{.remedy = "mu_map and view_corrections correct for it: tofstream docs spect"};
    if (!p.mu_map.empty()) made.holds.attenuation = {"rotation_projector", p.mu_map.string(), checksum(p.mu_map)};
    if (const auto cps = sensitivity_of(p)) {
      made.unit = "Bq/mL";
      made.scale = fmt::format("the camera's sensitivity of {:g} counts a second of 1 MBq", *cps);
    } else {
      made.scale = "the camera's sensitivity is not known: set cps_per_MBq";
    }
    return made;
  }
  // The projector, and the sensitivity of all views.
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    return memory_sum(image, projector_bytes(p, image));
  }
  static std::size_t projector_bytes(const Params& p, std::size_t image) {
    const Backend backend = wants_cuda(p.backend) ? Backend::cuda : Backend::cpu;
    const PsfForm form = p.psf_form == PsfFormChoice::fft ? PsfForm::fft : PsfForm::separable;
    return rotation_projector_bytes(image, form, !p.mu_map.empty(), backend);
  }
  static void check(const Params& p) { (void)settings(p); }

 private:
  // Reports and warns of what is wrong with them for these views and this image.
  static SpectSettings checked_settings(const Params& p, const Grid& grid, const ViewSet& views, Context& context) {
    SpectSettings made = settings(p);
    context.report("point_spread", in_words(made));
    warn_of_another_energy(p, views, context);
    if (made.mu_per_mm) require_overlap(made.mu_per_mm->grid, grid, p.mu_map);
    if (made.form == PsfForm::none)
      context.log().warning(
          "no point spread: the image is blurred by the collimator. Name the camera (scanner: spect_lehr) or give psf");
    if (made.mu_per_mm) warn_inside_body(views, *made.mu_per_mm, context);
    if (made.mu_per_mm) warn_of_incomplete_map(p, *made.mu_per_mm, grid, context);
    return made;
  }
  static void warn_of_incomplete_map(const Params& p, const Image& mu_per_mm, const Grid& image, Context& context) {
    const float from = image.origin_mm.z - 0.5F * image.voxel_mm.z;
    const float to = from + static_cast<float>(image.size[2]) * image.voxel_mm.z;
    const std::string warning = incomplete_mu_map(p.mu_map.string(), mu_per_mm, from, to);
    if (!warning.empty()) context.log().warning(warning);
  }
  static void warn_inside_body(const ViewSet& views, const Image& mu_per_mm, Context& context) {
    const auto inside = views_inside_body(views, mu_per_mm);
    if (!inside) return;
    const ViewPlace& place = views.places[static_cast<std::size_t>(inside->view)];
    const std::string line = fmt::format(
        "the collimator's face lies inside the body of the mu map in {} of {} views: deepest in view {} (at {:g} "
        "degrees), whose radius is {:g} mm where the body reaches {:.0f} mm towards the camera. What lies beyond the "
        "face counts nothing in such a view: correct the radius (radius_mm of projections_source), or the place of "
        "the map",
        inside->views, views.places.size(), inside->view, place.angle_deg, place.radius_mm, inside->reach_mm);
    context.report("radius_inside_body", line);
    context.log().warning(line);
  }

  static formats::Camera camera_of(const Params& p) {
    return p.scanner.empty() ? formats::Camera{} : formats::read_camera(find_shared("scanners", p.scanner));
  }
  static std::optional<double> sensitivity_of(const Params& p) {
    return p.cps_per_MBq ? p.cps_per_MBq : camera_of(p).cps_per_MBq;
  }
  // A CT's frame need not be the camera's.
  static void require_overlap(const Grid& map, const Grid& image, const std::filesystem::path& path) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto low = [&](const Grid& g) { return g.origin_mm[axis] - 0.5F * g.voxel_mm[axis]; };
      const auto high = [&](const Grid& g) { return low(g) + static_cast<float>(g.size[axis]) * g.voxel_mm[axis]; };
      if (high(map) <= low(image) || high(image) <= low(map))
        throw std::runtime_error(
            fmt::format("{}: along {} the map goes from {:g} to {:g} mm and the image from {:g} to {:g} mm, so that "
                        "nothing is attenuated: move the map (tofstream mu-map --shift-mm)",
                        path.string(), "xyz"[axis], low(map), high(map), low(image), high(image)));
    }
  }

  // The views' window says the photons' energy, or the camera's.
  static void warn_of_another_energy(const Params& p, const ViewSet& views, Context& context) {
    if (p.mu_map.empty()) return;
    double photons_keV = photopeak_keV(views);
    const formats::Camera camera = camera_of(p);
    if (photons_keV == 0 && camera.views) photons_keV = photopeak_keV(*camera.views);
    const std::string warning = other_mu_energy(p.mu_map.string(), mu_map_energy_keV(p.mu_map), photons_keV);
    if (!warning.empty()) context.log().warning(warning);
  }

  static std::uint32_t checksum(const std::filesystem::path& map) { return checksum_of_mu_map(read_mu_map(map)); }

  static SpectSettings settings(const Params& p) {
    const formats::Camera camera = camera_of(p);
    SpectSettings made{.beam = camera.beam, .focal_mm = camera.focal_mm, .psf = p.psf.model(camera.psf)};
    made.form = form_of(p.psf_form, made.psf);
    made.rotation = p.rotation;
    made.adjoint = p.adjoint;
    constexpr double decays_a_MBq = 1e6;
    made.counts_per_decay = static_cast<float>(sensitivity_of(p).value_or(decays_a_MBq) / decays_a_MBq);
    if (!p.mu_map.empty()) made.mu_per_mm = std::make_shared<const Image>(read_map(p.mu_map));
    made.box = p.support == ImageSupport::box;
    return made;
  }

  static PsfForm form_of(PsfFormChoice choice, const PsfModel& psf) {
    switch (choice) {
      case PsfFormChoice::none:
        return PsfForm::none;
      case PsfFormChoice::separable:
        return PsfForm::separable;
      case PsfFormChoice::incremental:
        return PsfForm::incremental;
      case PsfFormChoice::fft:
        return PsfForm::fft;
      case PsfFormChoice::table:
        return PsfForm::table;
      case PsfFormChoice::automatic:
        break;
    }
    if (std::holds_alternative<std::monostate>(psf)) return PsfForm::none;
    return std::holds_alternative<KernelTable>(psf) ? PsfForm::table : PsfForm::separable;
  }

  // A map in another unit than 1/cm, such as Hounsfield, would make an image of nothing.
  static Image read_map(const std::filesystem::path& path) {
    Image map = read_mu_map(path);
    constexpr double most_per_mm = 0.2;  // 2 per cm: no tissue reaches a tenth of it at any photopeak
    double sum = 0, inside = 0;
    for (const float mu : map.voxels.span()) {
      sum += mu;
      if (mu > 0) ++inside;
    }
    if (inside > 0 && sum / inside > most_per_mm)
      throw std::runtime_error(
          fmt::format("{}: its mean attenuation is {:.3g} per cm, which no tissue has: give a map "
                      "in 1/cm (`tofstream mu-map` makes one of a CT)",
                      path.string(), 10 * sum / inside));
    return map;
  }

  static std::string in_words(const SpectSettings& made) {
    if (made.form == PsfForm::none) return "none";
    if (std::holds_alternative<KernelTable>(made.psf)) return "a table of kernels";
    constexpr double depth_mm = 100;
    return fmt::format("{:.1f} mm FWHM at a depth of {:g} mm", psf_fwhm_mm(made.psf, depth_mm), depth_mm);
  }
  static double psf_fwhm_mm(const PsfModel& psf, double depth_mm) {
    return fwhm_per_sigma * psf_sigma_mm(psf, depth_mm);
  }
};

TOFSTREAM_VIEW_PROJECTOR(RotationProjector, "rotation_projector",
                         "Projects views of a gamma camera: the image turned towards it, attenuated, convolved with "
                         "the point spread of each depth, and summed");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
