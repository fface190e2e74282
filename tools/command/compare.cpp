// `tofstream compare A B`: how far an image is from a reference (conventions.md, figures of merit).
#include "kernels/analysis/compare.hpp"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/image_file.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct CompareOptions {
  std::string image, reference;
  bool json = false;
};

void run(const CompareOptions& options) {
  const Comparison c =
      from_input([&] { return compare(read_image_file(options.image), read_image_file(options.reference)); });
  if (options.json) {
    const nlohmann::ordered_json result{{"nrms", c.nrms},       {"rms", c.rms},
                                        {"max_abs", c.max_abs}, {"correlation", c.correlation},
                                        {"mean", c.mean},       {"reference_mean", c.reference_mean}};
    fmt::print("{}\n", result.dump(2));
    return;
  }
  fmt::print("normalised RMS deviation  {:.6g}   (RMS difference / range of the reference)\n", c.nrms);
  fmt::print("largest difference        {:.6g}\n", c.max_abs);
  fmt::print("correlation               {:.9f}\n", c.correlation);
  fmt::print("means                     {:.6g} and {:.6g}\n", c.mean, c.reference_mean);
}

}  // namespace

void add_compare(Command& app) {
  auto& command =
      app.add_command("compare", "Compare an image with a reference: nrms, largest difference, correlation");
  auto options = std::make_shared<CompareOptions>();
  command.add_option("image", options->image, "NIfTI image").required();
  command.add_option("reference", options->reference, "NIfTI image on the same grid").required();
  command.add_flag("--json", options->json, "Print JSON");
  command.footer("Example: tofstream compare out/cpu/image.nii.gz out/gpu/image.nii.gz");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
