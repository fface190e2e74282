// `tofstream inspect FILE`: what a PETSIRD stream or a journal holds, by reading all of it.
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/formats/journal/summary.hpp"
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

nlohmann::ordered_json inspect_petsird(const Options& options) {
  const petsird::Summary summary = from_input([&] { return petsird::summarise_file(options.file); });
  nlohmann::ordered_json result(petsird::to_json(summary));
  if (options.bin)
    result["bin_centre_mm"] = from_input([&] {
      const auto& scanner = summary.header.scanner;
      return petsird::bin_centre(scanner, petsird::nth_bin(scanner, *options.bin));
    });
  return result;
}

bool holds_a_journal(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) || journal::segment_number(path);
}

void print(const std::string& indent, const nlohmann::ordered_json& values) {
  const int width = 28 - static_cast<int>(indent.size());
  for (const auto& [key, value] : values.items()) {
    const bool is_list = value.is_array() && !value.empty() && value.front().is_object();
    if (!is_list)
      fmt::print("{}{:<{}} {}\n", indent, key, width, value.is_string() ? value.get<std::string>() : value.dump());
    else
      for (const auto& item : value) print(indent + "  ", item);
  }
}

void inspect(const Options& options) {
  const nlohmann::ordered_json result =
      holds_a_journal(options.file) ? from_input([&] { return journal::to_json(journal::summarise(options.file)); })
                                    : inspect_petsird(options);
  if (options.json)
    fmt::print("{}\n", result.dump(2));
  else
    print("", result);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto* command = app.add_subcommand("inspect", "Say what a PETSIRD file or a journal holds");
  auto options = std::make_shared<Options>();
  command->add_option("file", options->file, "PETSIRD file, binary form; or a journal, or a segment of one")
      ->required();
  command->add_option("--bin", options->bin, "Also say where this detection bin's crystal is (mm)");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example: tofstream inspect scan.petsird --bin 1000 --json");
  command->callback([options] { inspect(*options); });
}

}  // namespace tofstream::command
