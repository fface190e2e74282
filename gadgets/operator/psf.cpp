// Resolution modelling in image space by Gaussians whose widths change with radius and z.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>

#include "gadgets/io/psf/psf_table.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/operator/image_operator_gadget.hpp"
#include "kernels/psf/psf_operator.hpp"

namespace tofstream {
namespace {

class PsfType {
 public:
  struct Params {
    std::filesystem::path table;
  };
  static constexpr auto params = describe(param<&Params::table>(
      "table", required, reads_file,
      "CSV of FWHM in mm, r_mm,z_mm,radial_mm,tangential_mm,axial_mm: what a point at that radius "
      "and z is blurred by; `tofstream psf` makes it of point sources"));
  static constexpr const char* name = "psf";
  static constexpr bool is_basis = false;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return operator_memory(inputs, "and weights, of each z in the table one slice for each voxel that a width reaches");
  }

  explicit PsfType(const Params& p) : file_(p.table), table_(read(p.table)) {}
  std::shared_ptr<const ImageOperator> make(const Grid& grid, Backend backend, Context& context) const {
    auto psf = std::make_shared<const PsfOperator>(grid, table_, backend);
    context.report("weights_mib", static_cast<double>(psf->bytes()) / 1048576.0);
    return psf;
  }
  std::string words() const { return fmt::format("blurred by the resolution in {} (psf)", file_.filename().string()); }

 private:
  static ResolutionTable read(const std::filesystem::path& file) {
    require_readable(file, "'tofstream psf' makes one of point sources");
    return formats::read_psf_table(file);
  }

  std::filesystem::path file_;
  ResolutionTable table_;
};

using PsfGadget = ImageOperatorGadget<PsfType>;
TOFSTREAM_GADGET(PsfGadget, "psf",
                 "Models a resolution that changes with radius and z, between the estimate and a projector");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
