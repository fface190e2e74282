// The tube-of-response projector (paper 000, II.B) as a gadget.
#include "kernels/project/tor/tor.hpp"

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/project/list_mode_step.hpp"

namespace tofstream {

enum class Response { gaussian, bessel, table };
constexpr auto enum_names(Response) {
  return names(Response::gaussian, "gaussian", Response::bessel, "bessel", Response::table, "table");
}

namespace {

struct TorProjector {
  struct Params {
    float tube_width_voxels = 3;
    Response response = Response::gaussian;
    float fwhm_mm = 0;
    float bessel_alpha = 6;
    std::vector<float> table;
    bool tof = true;
    float tof_cut_sigma = 3;
    std::filesystem::path mu_map;
    SensitivityParams sensitivity;
    bool log_likelihood = false;
    BackendChoice backend = BackendChoice::automatic;
    CudaPath cuda_path = CudaPath::automatic;
    bool deterministic = false;
  };
  static constexpr auto params = describe(
      param<&Params::tube_width_voxels>("tube_width_voxels", range(2, 64),
                                        "Diameter of the tube, in the largest voxel edge; below 3 lines along an axis "
                                        "are off by up to 34 %"),
      param<&Params::response>("response", "Radial response: gaussian, bessel (Kaiser-Bessel blob) or table"),
      param<&Params::fwhm_mm>("fwhm_mm", range(0, 1000), unit("mm"),
                              "FWHM of the Gaussian; 0: 0.43 of the tube's diameter"),
      param<&Params::bessel_alpha>(
          "bessel_alpha", range(0, 100),
          "Shape of the Kaiser-Bessel blob; larger is narrower, and a tube of 3 voxels needs 6 or less"),
      param<&Params::table>("table", range(0, 1e30), "Any response, at equal steps from the tube's axis to its wall"),
      param<&Params::tof>("tof", "Use the events\' time of flight, where they have it"),
      param<&Params::tof_cut_sigma>("tof_cut_sigma", range(1, 6), "Where the ToF Gaussian is cut"),
      param<&Params::mu_map>("mu_map", reads_file, mu_map_words),
      param<&Params::sensitivity>("sensitivity", "How the sensitivity image is computed"),
      param<&Params::log_likelihood>("log_likelihood", "Report the log-likelihood of each update"),
      param<&Params::backend>("backend", "Where the projector runs"),
      param<&Params::cuda_path>("cuda_path", cuda_path_words),
      param<&Params::deterministic>("deterministic", deterministic_words));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    return projector_memory(p.backend, p.deterministic, inputs);
  }

  explicit TorProjector(const Params& p)
      : step_({p.backend, p.sensitivity, p.mu_map, p.tof, p.log_likelihood, describe_settings(p)}, [p](const Grid& grid,
                                                                                                       Backend backend,
                                                                                                       const Scanner&) {
          return make_tor_projector(grid, {response(p, grid), p.tof_cut_sigma, p.cuda_path, p.deterministic}, backend);
        }) {
    tube_width_voxels_ = p.tube_width_voxels;
    if (p.response == Response::table && p.table.size() < 2)
      throw std::invalid_argument("response: table needs `table` with at least two values");
  }

  void process(ProjectorInputs inputs, Emit<Projected>& emit, Context& context) {
    warn_of_narrow_tube(context);
    emit(step_(inputs, context));
  }
  void flush() { step_.finish(); }

 private:
  /// Once.
  void warn_of_narrow_tube(Context& context) {
    if (tube_width_voxels_ >= 3) return;
    context.log().warning(
        fmt::format("tube_width_voxels {}: along an axis a uniform image's line integrals are off by up to 34 % at 2 "
                    "voxels, 6 % at 3: give 3 or more",
                    tube_width_voxels_));
    tube_width_voxels_ = 3;
  }
  static RadialResponse response(const Params& p, const Grid& grid) {
    const float edge = std::max({grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z});
    const float radius = 0.5f * p.tube_width_voxels * edge;
    if (p.response == Response::bessel) return RadialResponse::kaiser_bessel(p.bessel_alpha, radius);
    if (p.response == Response::table) return RadialResponse::table(p.table, radius);
    // 0.43 of the diameter: the wall lies at 2.74 sigma, where the cut is small and neighbouring
    // voxels still overlap.
    return RadialResponse::gaussian(p.fwhm_mm > 0 ? p.fwhm_mm : 0.86f * radius, radius);
  }
  static std::string describe_settings(const Params& p) {
    return fmt::format("tor {} {} {} {} {} {}{}", p.tube_width_voxels, static_cast<int>(p.response), p.fwhm_mm,
                       p.bessel_alpha, fmt::join(p.table, ","), p.tof_cut_sigma, sum_order(p.deterministic));
  }

  ListModeStep step_;
  float tube_width_voxels_ = 3;
};

TOFSTREAM_GADGET(TorProjector, "tor_projector",
                 "Projects events along tubes of response: forward, ratio and back in one pass");

}  // namespace
}  // namespace tofstream
