// A deformation between the estimate and a projector: what is projected at p is the estimate at p + u(p).
#include "kernels/warp/warp.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "gadgets/io/nifti/displacement.hpp"
#include "gadgets/operator/image_operator_gadget.hpp"
#include "kernels/grid/sample_image.hpp"

namespace tofstream {

constexpr auto enum_names(DisplacementFrame) {
  return names(DisplacementFrame::lps, "lps", DisplacementFrame::ras, "ras");
}

namespace {

class WarpType {
 public:
  struct Params {
    std::filesystem::path field;
    DisplacementFrame frame = DisplacementFrame::lps;
  };
  static constexpr auto params =
      describe(param<&Params::field>(
                   "field", required, reads_file,
                   "NIfTI of displacements in mm, three components along its fifth axis, on any grid that covers "
                   "the image: what is projected at p is the estimate at p + u(p)"),
               param<&Params::frame>(
                   "frame", required,
                   "The axes of the components, which the file does not say: lps, as ITK and ANTs write them, or "
                   "ras, as NIfTI has its coordinates"));
  static constexpr const char* name = "warp";
  static constexpr bool is_basis = false;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    MemoryNeed need = operator_memory(inputs, "with the matrix and its transpose");
    // Eight columns and weights of each voxel and where they begin, of W and of its transpose.
    need.host_bytes = memory_sum(need.host_bytes, memory_product(inputs[0] / sizeof(float), 2 * (8 * 8 + 8)));
    return need;
  }

  explicit WarpType(const Params& p) : file_(p.field), field_(read_displacement(p.field, p.frame)) {}

  std::shared_ptr<const ImageOperator> make(const Grid& grid, Backend backend, Context& context) const try {
    const DisplacementField field{sampled_on(grid, field_[0]), sampled_on(grid, field_[1]),
                                  sampled_on(grid, field_[2])};
    report(warp_figures(field), context);
    return std::make_shared<const SparseOperator>(grid, warp_rows(field), backend);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", file_.string(), error.what()));
  }

  std::string words() const { return fmt::format("deformed by {} (warp)", file_.filename().string()); }

 private:
  void report(const WarpFigures& figures, Context& context) const {
    context.report("largest_displacement_mm", figures.largest_mm);
    context.report("outside", figures.outside);
    context.report("folded", figures.folded);
    if (figures.largest_mm == 0) context.log().warning(fmt::format("{} moves nothing", file_.string()));
    if (figures.folded > 0)
      context.log().warning(
          fmt::format("{} turns space inside out in {:.2g} % of the voxels, so it is no deformation there: are its "
                      "components in mm, "
                      "and in the frame that is given?",
                      file_.string(), 100 * figures.folded));
    constexpr double worth_telling = 0.05;
    if (figures.outside > worth_telling)
      context.log().warning(
          fmt::format("{} takes {:.0f} % of the voxels from outside the image, where there is nothing", file_.string(),
                      100 * figures.outside));
  }

  std::filesystem::path file_;
  DisplacementField field_;
};

using WarpGadget = ImageOperatorGadget<WarpType>;
TOFSTREAM_GADGET(WarpGadget, "warp", "Deforms the estimate by a displacement field before it is projected");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
