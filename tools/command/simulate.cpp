// `tofstream simulate`: list mode of a phantom in a scanner, made and written by the pipeline `simulate` with the
// gadgets of the scanner's kind: PETSIRD of a ring, text of strips.
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "core/base/make_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/wire/stream_header.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/option_sets.hpp"
#include "tools/command/running.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct SimulateOptions {
  std::string scanner = "demo_ring", phantom = "uniform_cylinder", scatter_phantom, output;
  std::optional<std::int64_t> events, seed;
  std::optional<double> seconds, block_seconds, randoms_cps, crystal_efficiency_spread;
  std::string isotope, motion;
  bool no_attenuation = false, delayeds = false, singles = false, scatter = false, header_only = false;
  RunSettings settings;
};

// A PETSIRD file without time blocks.
void write_header(const SimulateOptions& options, const std::string& scanner) {
  auto bytes = from_input([&] {
    return encode_stream_header(
        stream_header(scanner, options.crystal_efficiency_spread.value_or(0), options.delayeds));
  });
  bytes.push_back({});  // the end of the stream
  AtomicFile file(options.output);
  file.write(bytes);
  file.commit();
  if (options.settings.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"file", options.output}, {"bytes", bytes.size()}}.dump(2));
  else
    fmt::print("{}\n", options.output);
}

const ScannerKind& simulated_kind(const std::string& scanner) {
  const ScannerKind& kind = formats::scanner_kind_of(scanner);
  if (kind.simulator.empty() || kind.writer.empty())
    throw std::runtime_error(fmt::format("{}: this is {}, which no gadget simulates and writes", scanner, kind.words));
  return kind;
}

void simulate(SimulateOptions options) {
  const std::filesystem::path output = std::filesystem::absolute(options.output);
  OptionSets sets;
  const auto set = [&](const char* option, const char* key, const auto& value) {
    sets.add(option, key, fmt::format("{}", value));
  };
  const std::string scanner = from_input([&] { return find_shared("scanners", options.scanner).string(); });
  if (std::error_code none; std::filesystem::is_directory(output, none))
    throw InputError(fmt::format("{0} is a folder: name a file, such as -o {1}", options.output,
                                 (std::filesystem::path(options.output) / "scan.petsird").string()));
  from_input([&] { return make_folder(output.parent_path()); });
  if (options.header_only) return write_header(options, scanner);
  set("--scanner", "scanner", scanner);
  const ScannerKind kind = from_input([&] { return simulated_kind(scanner); });
  set("", "photons.use", kind.simulator);
  set("", "file.use", kind.writer);
  set("--phantom", "photons.phantom", from_input([&] { return find_shared("phantoms", options.phantom).string(); }));
  if (options.events) set("--events", "photons.events", *options.events);
  if (options.seconds) set("--seconds", "photons.seconds", *options.seconds);
  if (options.block_seconds) set("--block-seconds", "file.block_s", *options.block_seconds);
  if (options.seed) set("--seed", "photons.seed", *options.seed);
  if (options.randoms_cps) set("--randoms-cps", "photons.randoms_cps", *options.randoms_cps);
  if (options.crystal_efficiency_spread)
    set("--crystal-efficiency-spread", "crystal_efficiency_spread", *options.crystal_efficiency_spread);
  if (!options.scatter_phantom.empty())
    set("--scatter-phantom", "photons.scatter_phantom",
        from_input([&] { return find_shared("phantoms", options.scatter_phantom).string(); }));
  if (options.delayeds) set("", "delayeds", "true");
  if (options.singles) set("", "singles", "true");
  if (!options.isotope.empty()) set("--isotope", "photons.decay.isotope", options.isotope);
  if (!options.motion.empty())
    set("--motion", "photons.motion.file", std::filesystem::absolute(options.motion).string());
  if (options.scatter) set("--scatter", "photons.scatter", "true");
  if (options.no_attenuation) set("", "photons.attenuation", "false");
  set("--out", "file.file", output.string());
  run_pipeline(sets.load("simulate"), options.settings);
}

}  // namespace

void add_simulate(Command& app) {
  auto& command = app.add_command(
      "simulate", "Simulate list mode of a phantom in a scanner, as a file: PETSIRD, or what the kind of scanner has");
  auto options = std::make_shared<SimulateOptions>();
  command.add_option("-o,--out", options->output, "File to write, and no other; its folder is made if there is none")
      .required();
  command.add_option("--scanner", options->scanner, "A scanner of share/scanners, or a YAML file")
      .shows_default()
      .suggests(suggest_shared("scanners"));
  command.add_option("--phantom", options->phantom, "A phantom of share/phantoms, or a YAML file")
      .shows_default()
      .suggests(suggest_shared("phantoms"));
  const auto& events = command.add_option("--events", options->events, "Events to detect (default: 1000000)");
  command.add_option("--seconds", options->seconds, "Or the scan time to simulate").excludes(events);
  command.add_option("--block-seconds", options->block_seconds, "Longest time block of the file, in s (default: 0.1)");
  command.add_option("--seed", options->seed, "Same seed, same events");
  command.add_option("--randoms-cps", options->randoms_cps, "Random coincidences a second");
  command.add_flag("--delayeds", options->delayeds, "Also write delayed coincidences, which estimate the randoms");
  command.add_flag("--singles", options->singles,
                   "Also write singles histograms, of the singles that make the randoms");
  command.add_option("--isotope", options->isotope,
                     "Let the activity decay from the scan's start on: F-18, Rb-82, ...");
  command.add_option("--motion", options->motion,
                     "Move the phantom as a whole, with --seconds: a CSV of its poses over time, object to scanner "
                     "(tofstream docs motion)");
  command.add_option("--crystal-efficiency-spread", options->crystal_efficiency_spread,
                     "Crystals' efficiencies are uniform from 1 minus this to 1");
  command.add_flag("--scatter", options->scatter,
                   "Also the coincidences of which the phantom scattered a photon, once or more often");
  command
      .add_option("--scatter-phantom", options->scatter_phantom,
                  "A phantom whose activity stands for scatter: its photons are recorded and never attenuated")
      .suggests(suggest_shared("phantoms"));
  command.add_flag("--header-only", options->header_only,
                   "Write the scanner's header without events, for a live sender of your own to begin with");
  command.add_flag("--no-attenuation", options->no_attenuation, "Every photon leaves the phantom");
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer("Example: tofstream simulate --scanner gemini_tf --phantom nema_iq --events 5000000 -o nema.petsird");
  command.on_run([options] { simulate(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
