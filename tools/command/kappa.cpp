// `tofstream kappa SCAN --image IMAGE -o FILE`: the image with which a prior's resolution is even, by the pipeline
// `kappa` or one of the user's that ends like it.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/base/make_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/option_sets.hpp"
#include "tools/command/running.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct KappaOptions {
  std::string scan, image, output, pipeline = "kappa", backend;
  std::vector<std::string> sets;
  RunSettings settings;
};

void make_kappa(const KappaOptions& options) {
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path); };
  const std::filesystem::path output = absolute(options.output);
  if (!options.output.ends_with(".nii") && !options.output.ends_with(".nii.gz"))
    throw InputError(fmt::format("-o {}: kappa is written as NIfTI: name a file that ends in .nii.gz", options.output));
  from_input([&] { require_readable(options.scan); });
  from_input([&] { require_readable(options.image, "--image names the reconstruction"); });
  from_input([&] { make_folder(output.parent_path()); });
  OptionSets sets;
  sets.add("", "feed.path", absolute(options.scan).string());
  sets.add("--image", "estimate.reconstruction", absolute(options.image).string());
  sets.add("--out", "file.file", output.string());
  if (!options.backend.empty()) sets.add("--backend", "backend", options.backend);
  for (const std::string& set : options.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) throw InputError(fmt::format("--set {}: write gadget.parameter=value", set));
    sets.add("", set.substr(0, equals), set.substr(equals + 1));
  }
  run_pipeline(sets.load(options.pipeline), options.settings);
}

}  // namespace

void add_kappa(Command& app) {
  auto& command =
      app.add_command("kappa", "Make kappa, with which a prior's resolution is even, of an image and its data");
  auto options = std::make_shared<KappaOptions>();
  command.add_option("scan", options->scan, "The recording that was reconstructed").required();
  command.add_option("--image", options->image, "NIfTI of its reconstruction, without a prior; kappa is for its grid")
      .required();
  command.add_option("-o,--out", options->output, "NIfTI to write, as `kappa` of a prior reads it").required();
  command
      .add_option(
          "--pipeline", options->pipeline,
          "One that corrects for what the image was corrected for, with gadgets feed, estimate (kappa_image) and "
          "file; default: kappa, which corrects for nothing")
      .shows_default("kappa")
      .suggests(suggest_shared("pipelines"));
  command.add_option("--set", options->sets, "Override a parameter: projected.mu_map=/data/mu.nii.gz").one_a_time();
  command.add_option("--backend", options->backend, "cpu, cuda or auto").suggests({"auto", "cpu", "cuda"});
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream kappa scan.petsird --image results/image.nii.gz -o kappa.nii.gz\n"
      "It takes three passes over all data. 'tofstream docs priors' says what a prior does with it.");
  command.on_run([options] { make_kappa(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
