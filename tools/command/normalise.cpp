// `tofstream normalise SCAN --source PHANTOM -o FILE`: efficiencies and calibration from a scan of a known source, by
// the pipeline `normalise`; or other estimates of what a scanner counts, by theirs.
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "core/base/make_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/option_sets.hpp"
#include "tools/command/running.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct NormaliseOptions {
  std::string scan, source, mu_map, scatter, isotope, output;
  std::optional<double> live_fraction;
  std::optional<std::int64_t> lines;
  bool dead_time = false, delayeds = false, classes = false, no_crystals = false, no_calibration = false, no_randoms = false;
  RunSettings settings;
};

/// Throws InputError for options that do not go together.
void check_kind(const NormaliseOptions& options) {
  if (options.dead_time && options.delayeds)
    throw InputError("--dead-time and --delayeds are two estimates: ask for one at a time");
  if (options.dead_time && !options.source.empty())
    throw InputError("--dead-time needs no --source: it takes the singles of whatever decays");
  if (options.delayeds) {
    const bool has_others = !options.source.empty() || !options.mu_map.empty() || !options.scatter.empty() ||
                            !options.isotope.empty() || options.live_fraction || options.lines || options.classes ||
                            options.no_crystals || options.no_calibration || options.no_randoms;
    if (has_others)
      throw InputError("--delayeds estimates crystals' efficiencies alone, of any scan: it takes no option but --out");
  } else if (!options.dead_time && options.source.empty()) {
    throw InputError("--source is required: what was scanned (or --delayeds or --dead-time, which need none)");
  }
}

void normalise(const NormaliseOptions& options) {
  const std::filesystem::path output = std::filesystem::absolute(options.output);
  if (std::error_code none; std::filesystem::is_directory(output, none))
    throw InputError(fmt::format("{0} is a folder: name a file, such as -o {1}", options.output,
                                 (std::filesystem::path(options.output) / "normalisation.yaml").string()));
  check_kind(options);
  from_input([&] { require_readable(options.scan); });
  from_input([&] { make_folder(output.parent_path()); });
  OptionSets sets;
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  sets.add("", "feed.path", absolute(options.scan));
  if (options.dead_time) {
    if (options.isotope.empty())
      throw InputError("--dead-time needs --isotope: the source's decay tells its true rate");
    sets.add("--isotope", "times.decay.isotope", options.isotope);
    sets.add("--out", "times.file", output.string());
    return run_pipeline(sets.load("dead_time"), options.settings);
  }
  if (options.delayeds) {
    sets.add("--out", "efficiencies.file", output.string());
    return run_pipeline(sets.load("delayed_efficiencies"), options.settings);
  }
  sets.add("--source", "efficiencies.source",
           from_input([&] { return find_shared("phantoms", options.source).string(); }));
  if (!options.mu_map.empty()) sets.add("--mu", "efficiencies.mu_map", absolute(options.mu_map));
  if (!options.scatter.empty()) sets.add("--scatter", "efficiencies.scatter.file", absolute(options.scatter));
  if (!options.isotope.empty()) sets.add("--isotope", "efficiencies.decay.isotope", options.isotope);
  if (options.live_fraction)
    sets.add("--live-fraction", "efficiencies.dead_time.live_fraction", fmt::format("{}", *options.live_fraction));
  if (options.lines) sets.add("--lines", "efficiencies.lines", fmt::format("{}", *options.lines));
  if (options.classes) sets.add("--classes", "efficiencies.classes", "true");
  if (options.no_crystals) sets.add("--no-crystals", "efficiencies.crystals", "false");
  if (options.no_calibration) sets.add("--no-calibration", "efficiencies.calibration", "false");
  if (options.no_randoms) sets.add("--no-randoms", "efficiencies.randoms", "false");
  sets.add("--out", "efficiencies.file", output.string());
  run_pipeline(sets.load("normalise"), options.settings);
}

}  // namespace

void add_normalise(Command& app) {
  auto& command = app.add_command(
      "normalise", "Estimate crystals' efficiencies and the calibration to Bq/mL from a scan of a known source");
  auto options = std::make_shared<NormaliseOptions>();
  command.add_option("scan", options->scan, "A recording of the source in PETSIRD").required();
  command
      .add_option(
          "--source", options->source,
          "What was scanned: a phantom of share/phantoms, or a YAML file, with its activity at the scan's start")
      .suggests(suggest_shared("phantoms"));
  command
      .add_option("-o,--out", options->output,
                  "YAML file to write, as event_corrections reads it by normalisation: {from: file, file: FILE}, or by "
                  "dead_time: {file: FILE}")
      .required();
  command.add_option("--mu", options->mu_map, "NIfTI of its attenuation in 1/cm; none: the phantom's own");
  command.add_option("--scatter", options->scatter, "NIfTI of its scatter, as event_corrections reads it");
  command.add_option("--isotope", options->isotope, "Correct for the decay during the scan: F-18, Ga-68, ...");
  command
      .add_option("--live-fraction", options->live_fraction,
                  "Fraction of coincidences that dead time did not lose, if the recording does not state it")
      .within(1e-6, 1.0);
  command.add_flag(
      "--dead-time", options->dead_time,
      "Estimate modules' dead times instead, from the singles histograms of a source that decays (--isotope)");
  command.add_flag(
      "--delayeds", options->delayeds,
      "Estimate crystals' efficiencies from delayed coincidences alone, of any scan: without --source, and without a "
      "calibration");
  command.add_flag("--classes", options->classes, "Also a factor for each class of pairs of modules");
  command.add_flag("--no-crystals", options->no_crystals, "Keep the efficiencies of the recording's header");
  command.add_flag("--no-calibration", options->no_calibration,
                   "Keep the calibration of the recording's header: the activity is not known");
  command.add_flag("--no-randoms", options->no_randoms, "Take no randoms into the model");
  command.add_option("--lines", options->lines,
                     "Lines of the sums over pairs (default: 40000000): fewer are faster and less exact");
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream normalise norm.petsird --source uniform_cylinder --isotope F-18 -o normalisation.yaml\n"
      "Dead crystals get efficiency 0. 'tofstream docs corrections' has the model and how well it works.");
  command.on_run([options] { normalise(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
