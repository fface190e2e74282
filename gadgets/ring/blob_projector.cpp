// The projector of blobs (Cui et al. 2011, II.B.5-6 and its clinical case) as a gadget.
#include "kernels/ring/blob/blob_projector.hpp"

#include "core/gadget.hpp"
#include "gadgets/ring/pair_sensitivity.hpp"
#include "gadgets/ring/ring_parameters.hpp"
#include "gadgets/step/projector_kinds.hpp"

namespace tofstream {
namespace {

struct BlobProjector {
  struct Params : RingProjectorParams {
    CudaPath cuda_path = CudaPath::automatic;
  };
  static constexpr auto params =
      describe(param<&Params::cuda_path>("cuda_path", cuda_path_words)) + RingProjectorParams::params;

  static std::unique_ptr<ListModeProjector> make(const Params& p, const Grid& grid, Backend backend, const Scanner&,
                                                 Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_blob_projector(grid, {p.tof_cut_sigma, p.cuda_path, p.deterministic}, backend);
  }
  static std::unique_ptr<ReferenceProjector> make_reference(const Params& p, const Grid& grid, const Scanner&,
                                                            Context& context) {
    if (p.tof) warn_of_tof_cut(p.tof_cut_sigma, context);
    return make_blob_reference(grid, {p.tof_cut_sigma, p.cuda_path, p.deterministic});
  }
  static ListModeSensitivity sensitivity(const Params& p, const Scanner& scanner, const ProjectorRanks& projectors,
                                         Context& context) {
    return pair_sensitivity<BlobProjector>("blob", p, scanner, projectors, context);
  }
  static constexpr std::size_t cpu_copies = 2;
  static std::size_t bytes_held(const Params& p, std::size_t image) {
    return pair_projector_bytes(p, image, cpu_copies);
  }
  static std::size_t projector_bytes(const Params& p, std::size_t image) {
    return cpu_projector_bytes(image, p.deterministic, cpu_copies);
  }
  static std::int64_t planned_from(const Params& p) { return tofstream::planned_from(p.cuda_path, 5'000); }
};

TOFSTREAM_PROJECTOR(
    BlobProjector, "blob_projector",
    "Projects events along lines through an image of blobs (image.basis: blobs): forward, ratio and back in "
    "one pass");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
