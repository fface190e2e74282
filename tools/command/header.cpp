// `tofstream header SCAN --normalisation FILE -o FILE`: a recording with another normalisation in its header, its data
// copied as they are.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "core/base/make_folder.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/unpack.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "gadgets/ring/io/normalised_header.hpp"
#include "tools/command/commands.hpp"

namespace tofstream::command {

namespace {

struct HeaderOptions {
  std::string scan, normalisation, output;
  bool json = false;
};

/// Gives the file's bytes, unpacked where it is packed, to `take`.
template <class Take>
void for_each_piece(const std::string& path, const Take& take) {
  std::ifstream file(path, std::ios::binary);
  Unpacker unpacker;
  const auto give = [&](Unpacker::Bytes&& bytes) { take(bytes); };
  std::vector<std::byte> piece(std::size_t{1} << 20);
  while (file) {
    file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    const auto size = static_cast<std::ptrdiff_t>(file.gcount());
    if (size > 0) unpacker.push({piece.begin(), piece.begin() + size}, give);
  }
  if (file.bad()) throw std::runtime_error(fmt::format("cannot read {}", path));
  unpacker.finish(give);
}

// With the name of the file that is at fault.
template <class Work>
void naming(const std::string& file, const Work& work) try {
  work();
} catch (const InputError&) {
  throw;
} catch (const std::exception& error) {
  throw InputError(fmt::format("{}: {}", file, error.what()));
}

void replace_header(const HeaderOptions& options) {
  const std::filesystem::path output = std::filesystem::absolute(options.output);
  std::error_code none;
  if (std::filesystem::is_directory(output, none))
    throw InputError(fmt::format("{} is a folder: name a file, such as -o {}", options.output,
                                 (std::filesystem::path(options.output) / "scan.petsird").string()));
  from_input([&] { require_readable(options.scan); });
  if (std::filesystem::equivalent(options.scan, output, none))
    throw InputError(fmt::format("-o {} is the recording itself: name another file", options.output));
  const NormalisationComponents components =
      from_input([&] { return formats::read_normalisation(options.normalisation); });
  const std::string what =
      fmt::format("normalisation {}", std::filesystem::path(options.normalisation).filename().string());
  from_input([&] { make_folder(output.parent_path()); });
  AtomicFile file(output);
  float calibration = 0;
  petsird::HeaderReplacer replacer(
      [&](petsird::Header& header) {
        naming(options.normalisation, [&] { petsird::set_normalisation(header, components, what); });
        calibration = header.scanner.efficiencies.calibration_factor;
      },
      [&](std::span<const std::byte> bytes) { file.write(bytes); });
  naming(options.scan, [&] {
    for_each_piece(options.scan, [&](const std::vector<std::byte>& bytes) { replacer.push(bytes); });
    replacer.finish();
  });
  file.commit();
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"file", options.output},
                                              {"crystals", components.crystal_efficiency.size()},
                                              {"classes", components.class_factor.size()},
                                              {"calibration_factor", calibration}}
                           .dump(2));
  else
    fmt::print("{}\n", options.output);
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
