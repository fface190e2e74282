// The projector of two strips (Bialas et al. 2015) as a gadget.
#include <string>

#include "core/gadget.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/strip/strip_parameters.hpp"
#include "kernels/math/units.hpp"
#include "kernels/strip/strip.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream {

constexpr auto enum_names(StripForm) {
  return names(StripForm::full, "full", StripForm::eq7, "eq7", StripForm::gaussian, "gaussian");
}
constexpr auto enum_names(StripCudaPath) {
  return names(StripCudaPath::automatic, "automatic", StripCudaPath::thread_per_event, "thread_per_event",
               StripCudaPath::warp_per_event, "warp_per_event");
}

namespace {

struct StripProjector {
  struct Params {
    StripForm form = StripForm::full;
    StripResolutionParams resolution;
    bool sensitivity = true;
    StripCudaPath cuda_path = StripCudaPath::automatic;
    bool log_likelihood = false;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::form>(
          "form",
          "The kernel's form. full: knows that both photons hit the strips; eq7: the published formula; "
          "gaussian: its fastest approximation, too low far from the centre"),
      param<&Params::resolution>("resolution", "How well the strips measure"),
      param<&Params::sensitivity>("sensitivity",
                                  "Divide by the strips' sensitivity, so that the image is the activity; false: Bialas "
                                  "et al. 2015, eq. 5, whose image holds the activity times the sensitivity"),
      param<&Params::cuda_path>("cuda_path", "On CUDA: automatic is the fastest, the others are the paper's two"),
      param<&Params::log_likelihood>("log_likelihood", "Report the log-likelihood of each update"),
      param<&Params::backend>("backend", "Where the projector runs"));

  static std::unique_ptr<ListModeProjector> make(const Params& p, const Grid& grid, Backend backend,
                                                 const Scanner& scanner, Context& context) {
    const StripSettings made = settings(p, scanner);
    auto projector = make_strip_projector(grid, made, backend);
    if (backend == Backend::cuda)
      if (const std::string why = why_strips_are_slow(grid, made); !why.empty())
        context.log().warning("the slow path on CUDA: " + why);
    return projector;
  }
  static std::unique_ptr<ReferenceProjector> make_reference(const Params& p, const Grid& grid, const Scanner& scanner,
                                                            Context&) {
    return make_strip_reference(grid, settings(p, scanner));
  }

  // The probability that a decay in a pixel is recorded, as events per second for 1 Bq/mL in it; a probability of 1
  // without `sensitivity`.
  static ListModeSensitivity sensitivity(const Params& p, const Scanner&, const ListModeProjector& projector,
                                         Context& context) {
    Image image = *projector.closed_form_sensitivity();
    const float mL = static_cast<float>(mL_per_mm3) * image.grid.voxel_volume();
    for (float& value : image.voxels.span()) value = (p.sensitivity ? value : 1.0f) * mL;
    context.report("sensitivity_exact", true);
    context.report("sensitivity_relative_error", 0.0);
    return {.image = std::move(image),
            .holds = {.attenuation = {.gadget = context.name()}, .is_left_out = !p.sensitivity}};
  }
  // The sensitivity, which is made on the host; on a GPU also the sums, eight of 64 bits a pixel; on a CPU the image and
  // its sum with padding, and sums that are always deterministic.
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    if (wants_cuda(p.backend)) return memory_product(17, image);
    return memory_sum(image, projector_bytes(p, image));
  }
  static std::size_t projector_bytes(const Params&, std::size_t image) { return cpu_projector_bytes(image, true, 2); }

 private:
  static StripSettings settings(const Params& p, const Scanner& scanner) {
    return {.geometry = strip_geometry(scanner),
            .resolution = p.resolution.resolution(),
            .form = p.form,
            .cuda_path = p.cuda_path};
  }
};

TOFSTREAM_PROJECTOR(StripProjector, "strip_projector",
                    "Projects two strips' events by an analytic kernel: forward, ratio and back in one pass");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
