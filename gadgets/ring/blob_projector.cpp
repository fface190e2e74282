// The projector of blobs (paper 000, II.B.5-6 and its clinical case) as a gadget.
#include "kernels/ring/blob/blob_projector.hpp"

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/step/list_mode_step.hpp"

namespace tofstream {
namespace {

struct BlobProjector {
  struct Params {
    bool tof = true;
    float tof_cut_sigma = 3;
    std::filesystem::path mu_map;
    SensitivityParams sensitivity;
    bool log_likelihood = false;
    BackendChoice backend = BackendChoice::automatic;
    CudaPath cuda_path = CudaPath::automatic;
    bool deterministic = false;
  };
  static constexpr auto params =
      describe(param<&Params::tof>("tof", "Use the events\' time of flight, where they have it"),
               param<&Params::tof_cut_sigma>("tof_cut_sigma", range(1, 6), "Where the ToF Gaussian is cut"),
               param<&Params::mu_map>("mu_map", reads_file, mu_map_words),
               param<&Params::sensitivity>("sensitivity", "How the sensitivity image is computed"),
               param<&Params::log_likelihood>("log_likelihood", "Report the log-likelihood of each update"),
               param<&Params::backend>("backend", "Where the projector runs"),
               param<&Params::cuda_path>("cuda_path", cuda_path_words),
               param<&Params::deterministic>("deterministic", deterministic_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    return projector_memory(p.backend, p.deterministic, inputs);
  }

  explicit BlobProjector(const Params& p)
      : step_({p.backend, p.sensitivity, p.mu_map, p.tof, p.log_likelihood,
               fmt::format("blob {}{}", p.tof_cut_sigma, sum_order(p.deterministic)), false,
               planned_from(p.cuda_path, 5'000)},
              [p](const Grid& grid, Backend backend, const Scanner&, Context&) {
                return make_blob_projector(grid, {p.tof_cut_sigma, p.cuda_path, p.deterministic}, backend);
              }) {}

  void process(ProjectorInputs inputs, Emit<Projected>& emit, Context& context) { emit(step_(inputs, context)); }
  void flush() { step_.finish(); }

 private:
  ListModeStep step_;
};

TOFSTREAM_GADGET(
    BlobProjector, "blob_projector",
    "Projects events along lines through an image of blobs (image.basis: blobs): forward, ratio and back in "
    "one pass");

}  // namespace
}  // namespace tofstream
