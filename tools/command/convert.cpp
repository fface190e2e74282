// `tofstream convert A B`: data or an image from one program's format to another's, by the ending of B.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/make_folder.hpp"
#include "core/pipeline/pipeline.hpp"
#include "gadgets/io/dicom/pet_series.hpp"
#include "gadgets/io/event_formats.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/interfile/image_file.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/running.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string from, to, scanner;
  std::vector<std::string> sets;
  RunSettings settings;
};

// A DICOM series is a folder.
bool ends_as_series(const std::string& name) {
  return name.ends_with(".dicom") || name.ends_with("/");
}

bool ends_as_image(const std::string& name) {
  return name.ends_with(".hv") || name.ends_with(".nii") || name.ends_with(".nii.gz") || ends_as_series(name);
}

void say_left_out(const std::string& file, const std::string& what, const std::string& where) {
  fmt::print(stderr, "warning: {}: {}: left out, for which {} has no place\n", file, what, where);
}

// Where the converted files must not replace others: the file that is read.
void require_another_file(const ConvertOptions& options) {
  std::error_code none;
  if (fs::equivalent(options.from, options.to, none))
    throw InputError(fmt::format("{} is read and cannot be written: name another file", options.to));
}

void write_series(const ConvertOptions& options, const Image& image, const std::optional<Quantity>& quantity) {
  formats::PetSeries series;
  series.series_description = "converted by tofstream";
  series.grid = image.grid;
  series.frames = {{.voxels = image.voxels.span()}};
  series.quantity = quantity ? &*quantity : nullptr;
  for (const std::string& remark : formats::pet_values(series.quantity).remarks)
    fmt::print(stderr, "warning: {}: {}\n", options.to, remark);
  say_left_out(options.from, "patient, tracer and times (dicom_writer of a pipeline is told them)", "an image file");
  formats::write_pet_series(fs::path(options.to + "/").parent_path(), series);
}

void convert_image(const ConvertOptions& options) {
  if (!ends_as_image(options.to))
    throw InputError(
        fmt::format("{} is an image: name a file that ends in .hv, .nii or .nii.gz, or a folder that ends "
                    "in .dicom or / for a DICOM series",
                    options.from));
  from_input([&] {
    const Image image = read_image_file(options.from);
    const std::optional<Quantity> quantity = quantity_of_image_file(options.from);
    if (ends_as_series(options.to)) {
      write_series(options, image, quantity);
    } else if (options.to.ends_with(".hv")) {
      if (quantity) say_left_out(options.from, "the values' unit and which corrections they had", "Interfile");
      interfile::write_image(options.to, image);
    } else {
      write_nifti(options.to, image, {.description = "converted by tofstream", .unit = {}, .comment = {}});
    }
    return 0;
  });
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

// What is told before the data are read: `to` may still refuse some of them.
void say_what_is_lost(const ConvertOptions& options, const EventFormat& from, const EventFormat& to) {
  if (from.has_efficiencies && to.efficiencies.empty())
    fmt::print(
        stderr,
        "warning: {}: efficiencies of its scanner's pairs, if its header has them, are left out: {} has no place for "
        "them, and a reconstruction of it takes all pairs alike\n",
        options.from, to.words);
  if (!from.left_out.empty()) say_left_out(options.from, from.left_out, to.words);
}

// The parameters of `feed` and `file`.
std::vector<std::string> sets_of(const ConvertOptions& options, const EventFormat& from, const EventFormat& to) {
  const fs::path output = fs::absolute(options.to);
  std::vector<std::string> sets{"feed.path=" + fs::absolute(options.from).string(), "file.file=" + output.string()};
  if (from.asks_scanner && options.scanner.empty())
    throw InputError(fmt::format("{}: {}: name the scanner that was simulated by --scanner", options.from, from.words));
  if (!options.scanner.empty() && !from.asks_scanner && !to.takes_scanner)
    throw InputError(fmt::format("--scanner {}: {} brings its own scanner, and {} describes it", options.scanner,
                                 from.words, to.words));
  if (from.asks_scanner) sets.push_back("feed.scanner=" + options.scanner);
  if (to.takes_scanner && !options.scanner.empty()) sets.push_back("file.scanner=" + options.scanner);
  if (from.has_efficiencies && !to.efficiencies.empty()) {
    const fs::path second = output.parent_path() / (output.stem().string() + "_norm" + to.ending);
    sets.push_back(fmt::format("file.{}={}", to.efficiencies, second.string()));
  }
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  return sets;
}

void convert_events(const ConvertOptions& options) {
  Holds holds = Holds::nothing;
  const EventFormat& from = format_of(options.from, holds);
  const EventFormat& to = format_to_write(options.to);
  if (&from == &to && holds == Holds::list)
    throw InputError(fmt::format("{} is {} already: copy it", options.from, from.words));
  if (holds == Holds::bins && !to.takes_bins)
    throw InputError(
        fmt::format("{} holds bins with counts, and {} holds events one by one: bins are not made into "
                    "events",
                    options.from, to.words));
  const std::string text =
      fmt::format("pipeline: convert\ngadgets:\n{}  file: {{use: {}, from: {}}}\n", from.read, to.writer, from.last);
  PipelineOptions pipeline;
  pipeline.sets = sets_of(options, from, to);
  Pipeline made = from_input([&] { return parse_pipeline(text, "convert", pipeline); });
  say_what_is_lost(options, from, to);
  run_pipeline(std::move(made), options.settings);
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
  command
      .add_option("from", options->from,
                  "PETSIRD; CASToR (.cdh); Interfile of PET (.hs, .hv); GATE's coincidences (.root); a NIfTI image")
      .required();
  command
      .add_option("to", options->to,
                  "What to write; its ending says the format: .petsird; .cdh (CASToR); .hs (Interfile projection "
                  "data); .hv or .nii.gz (images); .dicom or / (an image as a DICOM series, a folder)")
      .required();
  command
      .add_option(
          "--scanner", options->scanner,
          "The scanner's YAML: of a GATE simulation; and for PETSIRD's header, which else is made of the places "
          "of detectors")
      .suggests(suggest_shared("scanners"));
  command
      .add_option("--set", options->sets,
                  "Override a parameter of the gadget that reads (feed) or writes (file): file.span=11")
      .one_a_time()
      .takes_no_files();
  command.add_flag("--json", options->settings.json, "Print JSON");
  command.add_flag("--quiet", options->settings.quiet, "No progress");
  command.footer(
      "Example: tofstream convert scan.petsird scan.hs\n"
      "The efficiencies of a PETSIRD header become factors beside projection data: scan_norm.hs. What a format cannot "
      "hold is said in one line, or refused; 'tofstream docs interfile' has the table.");
  command.on_run([options] { convert(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
