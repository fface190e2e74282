// The tube-of-response projector (Cui et al. 2011, II.B) as a gadget.
#include "kernels/ring/tor/tor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/ring/pair_sensitivity.hpp"
#include "gadgets/ring/ring_parameters.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "kernels/ring/tor/choose_tube.hpp"

namespace tofstream {

enum class Response { gaussian, bessel, table };
constexpr auto enum_names(Response) {
  return names(Response::gaussian, "gaussian", Response::bessel, "bessel", Response::table, "table");
}

enum class NormaliseChoice { automatic, none, slice };
constexpr auto enum_names(NormaliseChoice) {
  return names(NormaliseChoice::automatic, "automatic", NormaliseChoice::none, "none", NormaliseChoice::slice, "slice");
}

namespace {

struct TorProjector {
  struct Params : RingProjectorParams {
    float tube_width_voxels = 0;
    Response response = Response::gaussian;
    float fwhm_mm = 0;
    float bessel_alpha = 6;
    std::vector<float> table;
    NormaliseChoice normalise = NormaliseChoice::automatic;
    CudaPath cuda_path = CudaPath::automatic;
  };
  static constexpr auto params =
      describe(
          param<&Params::tube_width_voxels>(
              "tube_width_voxels", range(0, 64),
              "Diameter of the tube in units of the largest voxel edge, at least 1; 0: as wide as the response needs"),
          param<&Params::response>("response", "Radial response: gaussian, bessel (Kaiser-Bessel blob) or table"),
          param<&Params::fwhm_mm>(
              "fwhm_mm", range(0, 1000), unit("mm"),
              "FWHM of the Gaussian; 0: 0.43 of the tube's diameter if that is given, else half the "
              "width of the scanner's crystals, but at least 0.61 voxels"),
          param<&Params::bessel_alpha>(
              "bessel_alpha", range(0, 100),
              "Shape of the Kaiser-Bessel blob; larger is narrower, and a tube of 3 voxels needs 6 or less"),
          param<&Params::table>("table", range(0, 1e30),
                                "Any response, at equal steps from the tube's axis to its wall"),
          param<&Params::normalise>(
              "normalise",
              "slice: the weights of each slice add up to the line's length in it, so that narrow tubes are right "
              "along "
              "the axes too; automatic: slice for tubes narrower than 3 voxels, unless cuda_path is paper"),
          param<&Params::cuda_path>("cuda_path", cuda_path_words)) +
      RingProjectorParams::params;

  static std::unique_ptr<ListModeProjector> make(const Params& p, const Grid& grid, Backend backend,
                                                 const Scanner& scanner, Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_tor_projector(grid, settings(p, choose(p, scanner, grid, context), grid), backend);
  }
  static std::unique_ptr<ReferenceProjector> make_reference(const Params& p, const Grid& grid, const Scanner& scanner,
                                                            Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_tor_reference(grid, settings(p, choose(p, scanner, grid, context), grid));
  }
  static ListModeSensitivity sensitivity(const Params& p, const Scanner& scanner, const ProjectorRanks& projectors,
                                         Context& context) {
    return pair_sensitivity<TorProjector>("tor", p, scanner, projectors, context);
  }
  static constexpr std::size_t cpu_copies = 2;
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    return pair_projector_bytes(p, image, cpu_copies);
  }
  static std::size_t projector_bytes(const Params& p, std::size_t image) {
    return cpu_projector_bytes(image, p.deterministic, cpu_copies);
  }
  static std::int64_t planned_from(const Params& p) { return tofstream::planned_from(p.cuda_path, 5'000); }
  /// Throws if the parameters are wrong for every scanner and image.
  static void check(const Params& p) {
    if (p.response == Response::table && p.table.size() < 2)
      throw std::invalid_argument("response: table needs `table` with at least two values");
    const float width = p.tube_width_voxels;
    if (width == 0) return;
    if (width < 1) throw std::invalid_argument(fmt::format("tube_width_voxels {}: give 0, or 1 to 64", width));
    if (width < 2 && p.normalise == NormaliseChoice::none)
      throw std::invalid_argument(fmt::format(
          "tube_width_voxels {}: below 2 a line along an axis may meet no voxel; leave out normalise: none", width));
  }

 private:
  struct Chosen {
    float width_voxels;
    float fwhm_mm;  // of a Gaussian
    Normalise normalise;
  };
  /// Chooses the tube and reports it; also logs it if the user left it open.
  static Chosen choose(const Params& p, const Scanner& scanner, const Grid& grid, Context& context) {
    const bool is_gaussian = p.response == Response::gaussian;
    const GaussianTube tube = is_gaussian ? choose_tube(scanner, grid, p.tube_width_voxels, p.fwhm_mm)
                                          : GaussianTube{p.tube_width_voxels > 0 ? p.tube_width_voxels : 3, 0, {}};
    const Normalise normalise = choose_normalise(p, tube.width_voxels);
    std::string words = fmt::format("{:.3g} voxels wide", tube.width_voxels);
    if (is_gaussian) words += fmt::format(", response of {:.3g} mm FWHM", tube.fwhm_mm);
    if (normalise == Normalise::slice) words += ", normalised by slices";
    context.report("tube", words);
    if (tube.crystal_mm) {
      context.log().info(fmt::format("the tube of response: {}, for crystals {:.3g} mm wide", words, *tube.crystal_mm));
    } else if (is_gaussian && p.tube_width_voxels == 0 && p.fwhm_mm == 0) {
      context.log().info(fmt::format("the tube of response: {}; the scanner does not tell its crystals' width", words));
    }
    if (tube.width_voxels < 3 && normalise == Normalise::none)
      context.log().warning(
          fmt::format("tube_width_voxels {}: along an axis a uniform image's line integrals are off by up to 34 % at 2 "
                      "voxels, 6 % at 3: leave out normalise: none, or give 3 or more",
                      tube.width_voxels));
    if (const float least = least_fwhm_mm(grid); is_gaussian && tube.fwhm_mm < 0.99f * least)
      context.log().warning(
          fmt::format("the tube of response: a FWHM of {:.3g} mm is narrower than the voxels can hold, so that a line "
                      "sees now one voxel and now several: give {:.3g} mm or more, or smaller voxels",
                      tube.fwhm_mm, least));
    return {tube.width_voxels, tube.fwhm_mm, normalise};
  }

  static Normalise choose_normalise(const Params& p, float width_voxels) {
    if (p.normalise == NormaliseChoice::slice) return Normalise::slice;
    if (p.normalise == NormaliseChoice::none || p.cuda_path == CudaPath::paper) return Normalise::none;  // as published
    return usual_normalise(width_voxels);
  }

  static TorSettings settings(const Params& p, const Chosen& tube, const Grid& grid) {
    const float edge = std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
    float radius = 0.5f * tube.width_voxels * edge;
    // The wall of the narrowest tubes lies farther out, so that no slice is empty.
    if (tube.normalise == Normalise::slice) radius = std::max(radius, least_slice_radius_mm(grid));
    return {.response = response(p, tube.fwhm_mm, radius),
            .tof_cut_sigma = p.tof_cut_sigma,
            .cuda_path = p.cuda_path,
            .deterministic = p.deterministic,
            .normalise = tube.normalise};
  }
  static RadialResponse response(const Params& p, float fwhm_mm, float radius_mm) {
    if (p.response == Response::bessel) return RadialResponse::kaiser_bessel(p.bessel_alpha, radius_mm);
    if (p.response == Response::table) return RadialResponse::table(p.table, radius_mm);
    return RadialResponse::gaussian(fwhm_mm, radius_mm);
  }
};

TOFSTREAM_PROJECTOR(TorProjector, "tor_projector",
                    "Projects events along tubes of response: forward, ratio and back in one pass");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
