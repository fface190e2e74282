// Joseph's line projector as a gadget.
#include "core/gadget.hpp"
#include "gadgets/ring/pair_sensitivity.hpp"
#include "gadgets/ring/ring_parameters.hpp"
#include "gadgets/step/projector_kinds.hpp"
#include "kernels/ring/joseph/joseph.hpp"

namespace tofstream {

constexpr auto enum_names(JosephSettings::Edge) {
  return names(JosephSettings::Edge::full, "full", JosephSettings::Edge::clipped, "clipped");
}

namespace {

struct JosephProjector {
  struct Params : RingProjectorParams {
    JosephSettings::Edge edges = JosephSettings::Edge::full;
  };
  static constexpr auto params =
      describe(param<&Params::edges>("edges",
                                     "full: bilinear support up to the border; clipped: planes crossed outside the "
                                     "side faces are dropped, as libparallelproj does")) +
      RingProjectorParams::params;

  static std::unique_ptr<ListModeProjector> make(const Params& p, const Grid& grid, Backend backend, const Scanner&,
                                                 Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_joseph_projector(grid, settings(p), backend);
  }
  static std::unique_ptr<ReferenceProjector> make_reference(const Params& p, const Grid& grid, const Scanner&,
                                                            Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_joseph_reference(grid, settings(p));
  }
  static ListModeSensitivity sensitivity(const Params& p, const Scanner& scanner, const ProjectorRanks& projectors,
                                         Context& context) {
    return pair_sensitivity<JosephProjector>("joseph", p, scanner, projectors, context);
  }
  static constexpr std::size_t cpu_copies = 0;
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    return pair_projector_bytes(p, image, cpu_copies);
  }
  static std::size_t projector_bytes(const Params& p, std::size_t image) {
    return cpu_projector_bytes(image, p.deterministic, cpu_copies);
  }
  static std::int64_t planned_from(const Params&) { return tofstream::planned_from(CudaPath::automatic, 20'000); }

 private:
  static JosephSettings settings(const Params& p) {
    return {.edge = p.edges, .tof_cut_sigma = p.tof_cut_sigma, .deterministic = p.deterministic};
  }
};

TOFSTREAM_PROJECTOR(JosephProjector, "joseph_projector",
                    "Projects events along lines by Joseph's interpolation: forward, ratio and back in one pass");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
