// Writes estimates as NIfTI: the final image, and on request each iteration's or update's.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct NiftiWriter {
  struct Params {
    std::filesystem::path file = "image.nii.gz";
    Every every = Every::final;
    std::vector<int> at_iterations;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", in_run_folder,
                                    "Name in the output folder, .nii or .nii.gz; intermediate images add their number"),
               param<&Params::every>("every", "Write only the final image, or also that of each iteration or update"),
               param<&Params::at_iterations>("at_iterations", range(1, 10000), at_iterations_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  // Voxels go straight from the image to the file; the last image is a message that is kept.
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size"};
  }

  NiftiWriter(const Params& p, Context& context) : p_(p) {
    const std::string name = p.file.string();
    if (!name.ends_with(".nii") && !name.ends_with(".nii.gz"))
      throw std::invalid_argument(fmt::format("file must end in .nii or .nii.gz, not {}", name));
    context.output_file(p.file);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    last_ = estimate;
    if (estimate->step.iteration == 0) on_host(*estimate);  // reserves the memory for images to be written
    events_.take_in(context.message());
    if (is_due(*estimate, p_.every, p_.at_iterations)) write(numbered(p_.file, estimate->step, p_.every), context);
  }

  void flush(Context& context) {
    if (last_ && last_->step.iteration > 0) write(p_.file, context);
  }

 private:
  // An image without provenance is better than none.
  std::string provenance(Context& context) const {
    if (!context.control()) return {};
    std::string json = provenance_of(*last_, events_.events(), context);
    if (json.size() <= longest_nifti_comment) return json;
    context.log().warning(
        "the image carries no provenance: the pipeline and the changes of its parameters are too long for it");
    return {};
  }

  void write(const std::filesystem::path& file, Context& context) const {
    const std::filesystem::path target = context.output_file(file);
    write_nifti(target, *on_host(*last_),
                {.description = fmt::format("tofstream, {}{}", step_words(last_->step), label_of(*last_)),
                 .unit = unit_of(*last_),
                 .comment = provenance(context)});
    context.report("file", target.string());
    report_image(*last_, context);
  }

  Params p_;
  std::shared_ptr<const Estimate> last_;
  EventSpan events_;
};

TOFSTREAM_GADGET(NiftiWriter, "nifti_writer", "Writes the image as NIfTI (float32, mm, RAS affine)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
