// `tofstream inspect FILE`: what a PETSIRD stream holds, by decoding all of it.
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/formats/petsird/describe.hpp"
#include "gadgets/formats/petsird/detection_bins.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct Options {
  std::string file;
  std::optional<std::uint64_t> bin;
  bool json = false;
};

void inspect(const Options& options) {
  const petsird::Summary summary = from_input([&] { return petsird::summarise_file(options.file); });
  nlohmann::json result = petsird::to_json(summary);
  if (options.bin)
    result["bin_centre_mm"] = from_input([&] {
      const auto& scanner = summary.header.scanner;
      return petsird::bin_centre(scanner, petsird::nth_bin(scanner, *options.bin));
    });
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  for (const auto& [key, value] : result.items())
    fmt::print("{:<28} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto* command = app.add_subcommand("inspect", "Say what a PETSIRD file holds");
  auto options = std::make_shared<Options>();
  command->add_option("file", options->file, "PETSIRD file, binary form")->required();
  command->add_option("--bin", options->bin, "Also say where this detection bin's crystal is (mm)");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example: tofstream inspect scan.petsird --bin 1000 --json");
  command->callback([options] { inspect(*options); });
}

}  // namespace tofstream::command
