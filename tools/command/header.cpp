// `tofstream header SCAN --normalisation FILE -o FILE`: a recording with another normalisation in its header, its data
// copied as they are.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "core/base/make_folder.hpp"
#include "gadgets/io/header_normalisers.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct HeaderOptions {
  std::string scan, normalisation, output;
  bool json = false;
};

void replace_header(const HeaderOptions& options) {
  const std::filesystem::path output = std::filesystem::absolute(options.output);
  std::error_code none;
  if (std::filesystem::is_directory(output, none))
    throw InputError(fmt::format("{} is a folder: name a file, such as -o {}", options.output,
                                 (std::filesystem::path(options.output) / "scan.petsird").string()));
  from_input([&] { require_readable(options.scan); });
  if (std::filesystem::equivalent(options.scan, output, none))
    throw InputError(fmt::format("-o {} is the recording itself: name another file", options.output));
  from_input([&] { require_readable(options.normalisation); });
  from_input([&] { make_folder(output.parent_path()); });
  AtomicFile file(output);
  const nlohmann::ordered_json made = from_input([&] {
    return table_of<HeaderNormaliser>().at("PETSIRD").write(
        options.scan, options.normalisation, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  });
  file.commit();
  if (!options.json) return fmt::print("{}\n", options.output);
  nlohmann::ordered_json result{{"file", options.output}};
  result.update(made);
  fmt::print("{}\n", result.dump(2));
}

}  // namespace

void add_header(Command& app) {
  auto& command =
      app.add_command("header", "Put a normalisation into the header of a PETSIRD recording, as a new file");
  auto options = std::make_shared<HeaderOptions>();
  command.add_option("scan", options->scan, "The recording; its data are copied as they are").required();
  command
      .add_option("--normalisation", options->normalisation,
                  "YAML as `tofstream normalise` writes it, of the recording's scanner")
      .required();
  command.add_option("-o,--out", options->output, "File to write").required();
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Example: tofstream header patient.petsird --normalisation normalisation.yaml -o normalised.petsird\n"
      "Images of the new file are in kBq/mL, as the standard's calibration factor has it.");
  command.on_run([options] { replace_header(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
