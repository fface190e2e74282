// Writes the final image as STIR reads it.
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/write/estimate_writer.hpp"

namespace tofstream {
namespace {

struct InterfileImageWriter {
  struct Params {
    std::filesystem::path file = "image.hv";
    Every every = Every::final;
    std::vector<int> at_iterations;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", in_run_folder,
                                    "Name of the header in the output folder, .hv; beside it come the numbers (.v)"),
               param<&Params::every>("every", "Write only the final image, or also that of each iteration or update"),
               param<&Params::at_iterations>("at_iterations", range(1, 10000), at_iterations_words));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(std::span<const std::size_t> inputs) {
    return {.copy_bytes = inputs[0], .lower = "image.size"};
  }

  InterfileImageWriter(const Params& p, Context& context) : p_(p) {
    if (p.file.extension() != ".hv")
      throw std::invalid_argument(fmt::format("file must end in .hv, not {}", p.file.string()));
    claim(p.file, context);
  }

  void process(std::shared_ptr<const Estimate> estimate, Context& context) {
    require_voxels(*estimate);
    last_ = estimate;
    if (is_due(*estimate, p_.every, p_.at_iterations)) write(numbered(p_.file, estimate->step, p_.every), context);
  }

  void flush(Context& context) {
    if (last_ && last_->step.iteration > 0) write(p_.file, context);
  }

 private:
  static std::filesystem::path claim(const std::filesystem::path& file, Context& context) {
    (void)context.output_file(std::filesystem::path(file).replace_extension(".v"));
    return context.output_file(file);
  }

  void write(const std::filesystem::path& file, Context& context) const {
    const std::filesystem::path target = claim(file, context);
    interfile::write_image(target, *on_host(*last_));
    context.report("file", target.string());
    report_image(*last_, context);
  }

  const Params p_;
  std::shared_ptr<const Estimate> last_;
};

TOFSTREAM_GADGET(InterfileImageWriter, "interfile_image_writer", "Writes the image as STIR reads it (Interfile)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
