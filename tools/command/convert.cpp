// `tofstream convert A B`: data or an image from one program's format to another's, by the ending of B.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/make_folder.hpp"
#include "core/pipeline/pipeline.hpp"
#include "gadgets/io/event_formats.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string from, to;
  RunSettings settings;
};

bool ends_as_image(const std::string& name) {
  return name.ends_with(".hv") || name.ends_with(".nii") || name.ends_with(".nii.gz");
}

// Where the converted files must not replace others: the file that is read.
void require_another_file(const ConvertOptions& options) {
  std::error_code none;
  if (fs::equivalent(options.from, options.to, none))
    throw InputError(fmt::format("{} is read and cannot be written: name another file", options.to));
}

void convert_image(const ConvertOptions& options) {
  if (!ends_as_image(options.to))
    throw InputError(fmt::format("{} is an image: name a file that ends in .hv, .nii or .nii.gz", options.from));
  const Image image = from_input([&] { return read_image_file(options.from); });
  if (options.to.ends_with(".hv"))
    interfile::write_image(options.to, image);
  else
    write_nifti(options.to, image, {.description = "converted by tofstream", .unit = {}, .comment = {}});
}

const EventFormat& format_of(const std::string& file, Holds& holds) {
  for (const EventFormat& format : table_of<EventFormat>()) {
    holds = format.holds ? from_input([&] { return format.holds(file); }) : Holds::nothing;
    if (holds != Holds::nothing) return format;
  }
  std::vector<std::string> known;
  for (const EventFormat& format : table_of<EventFormat>()) known.push_back(format.words);
  throw InputError(fmt::format("{}: this is none of what is converted: {}, and images of NIfTI and Interfile", file,
                               fmt::join(known, ", ")));
}

const EventFormat& format_to_write(const std::string& file) {
  std::vector<std::string> endings;
  for (const EventFormat& format : table_of<EventFormat>()) {
    if (format.ending.empty()) continue;
    if (file.ends_with(format.ending)) return format;
    endings.push_back(format.ending + " (" + format.words + ")");
  }
  throw InputError(
      fmt::format("{}: its ending says no format that data are written in: {}", file, fmt::join(endings, ", ")));
}

void convert_events(const ConvertOptions& options) {
  Holds holds = Holds::nothing;
  const EventFormat& from = format_of(options.from, holds);
  const EventFormat& to = format_to_write(options.to);
  if (holds == Holds::bins && !to.takes_bins)
    throw InputError(
        fmt::format("{} holds bins with counts, and {} holds events one by one: bins are not made into "
                    "events",
                    options.from, to.words));
  if (from.has_efficiencies && to.efficiencies.empty())
    fmt::print(
        stderr,
        "warning: {}: efficiencies of its scanner's pairs, if its header has them, are left out: {} has no place for "
        "them, and a reconstruction of it takes all pairs alike\n",
        options.from, to.words);
  const std::string text =
      fmt::format("pipeline: convert\ngadgets:\n{}  file: {{use: {}, from: {}}}\n", from.read, to.writer, from.last);
  const fs::path output = fs::absolute(options.to);
  PipelineOptions pipeline;
  pipeline.sets = {"feed.path=" + fs::absolute(options.from).string(), "file.file=" + output.string()};
  if (from.has_efficiencies && !to.efficiencies.empty()) {
    const fs::path second = output.parent_path() / (output.stem().string() + "_norm" + to.ending);
    pipeline.sets.push_back(fmt::format("file.{}={}", to.efficiencies, second.string()));
  }
  run_pipeline(from_input([&] { return parse_pipeline(text, "convert", pipeline); }), options.settings);
}

void convert(const ConvertOptions& options) {
  from_input([&] {
    require_readable(options.from);
    return 0;
  });
  require_another_file(options);
  from_input([&] { return make_folder(fs::absolute(options.to).parent_path()); });
  if (is_image_file(options.from)) return convert_image(options);
  convert_events(options);
}

}  // namespace

void add_convert(Command& app) {
  auto& command = app.add_command("convert", "Convert data or an image to another program's format");
  auto options = std::make_shared<ConvertOptions>();
  command.add_option("from", options->from, "PETSIRD; CASToR (.cdh); Interfile of PET (.hs, .hv); a NIfTI image")
      .required();
  command
      .add_option("to", options->to,
                  "File to write; its ending says the format: .hs (Interfile projection data), .cdh (CASToR's list "
                  "mode), .hv or .nii.gz (images)")
      .required();
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream convert scan.petsird scan.hs\n"
      "The efficiencies of a PETSIRD header become factors beside projection data: scan_norm.hs. What a format cannot "
      "hold is refused; 'tofstream docs interfile' has the table.");
  command.on_run([options] { convert(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
