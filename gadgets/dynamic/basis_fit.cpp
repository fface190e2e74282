// Coefficients of any functions of time from the frames of a dynamic scan, voxel by voxel.
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>

#include "core/gadget.hpp"
#include "gadgets/dynamic/frame_fit.hpp"

namespace tofstream {
namespace {

struct BasisFit {
  struct Params {
    std::filesystem::path functions;
    double start_s = 0;
  };
  static constexpr auto params =
      describe(param<&Params::functions>("functions", required, reads_file, function_table_words),
               param<&Params::start_s>("start_s", range(0, 1e9), unit("s"),
                                       "Frames that begin at this scan time or later are fitted"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.host_bytes = 2 * inputs[0], .lower = "image.size", .note = "and the image of each frame"};
  }

  BasisFit(const Params& p, Context& context) : p_(p), functions_(FrameFunctions::of_table(p.functions)) {
    for (const CoefficientImage& image : functions_.images()) context.output_file(image.file);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    fit_.take(*estimate, &functions_, context);
  }

  void flush(Context& context) { fit_.write(functions_, p_.start_s, context); }

 private:
  Params p_;
  FrameFunctions functions_;
  FrameFit fit_;
};

TOFSTREAM_GADGET(BasisFit, "basis_fit",
                 "Writes images of how much of each function of time there is in frames, by least squares");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
