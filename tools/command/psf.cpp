// `tofstream psf SCAN_OR_IMAGE... -o FILE`: a scanner's resolution by radius and z, from point sources: a Gaussian is
// fitted to each. A scan is reconstructed first.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/make_folder.hpp"
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/psf/psf_table.hpp"
#include "gadgets/io/shared_files.hpp"
#include "kernels/psf/point_source_fit.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/option_sets.hpp"
#include "tools/command/running.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

struct PsfOptions {
  std::vector<std::string> inputs, sets;
  std::string output, pipeline = "joseph_osem", backend;
  PointSourceSearch search;
  double same_z_mm = 5;
  bool json = false, quiet = false;
};

struct FoundSource {
  std::string file;
  PointSource source;
};

/// Reconstructs a scan beside the table, and says where the image is.
std::filesystem::path reconstructed(const std::string& scan, std::size_t number, const PsfOptions& options) {
  std::filesystem::path image = std::filesystem::absolute(options.output);
  image.replace_filename(fmt::format("{}_{}.nii.gz", image.stem().string(), number));
  OptionSets sets;
  sets.add("", "feed.path", std::filesystem::absolute(scan).string());
  sets.add("--out", "file.file", image.string());
  sets.add("", "picture.file", std::filesystem::path(image).replace_extension().replace_extension(".png").string());
  if (!options.backend.empty()) sets.add("--backend", "backend", options.backend);
  for (const std::string& set : options.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos) throw InputError(fmt::format("--set {}: write gadget.parameter=value", set));
    sets.add("", set.substr(0, equals), set.substr(equals + 1));
  }
  RunSettings settings;
  settings.quiet = options.quiet || options.json;
  settings.is_step = options.json;
  run_pipeline(sets.load(options.pipeline), settings);
  return image;
}

std::vector<FoundSource> find_sources(const PsfOptions& options) {
  std::vector<FoundSource> found;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const std::string& input = options.inputs[i];
    const std::filesystem::path file =
        is_image_file(input) ? std::filesystem::path(input) : reconstructed(input, i + 1, options);
    try {
      for (PointSource& source : fit_point_sources(read_image_file(file), options.search))
        found.push_back({file.string(), std::move(source)});
    } catch (const std::invalid_argument& error) {
      throw InputError(fmt::format("{}: {}", file.string(), error.what()));
    }
  }
  return found;
}

/// Sources whose z differ by less than `same_z_mm` get their mean z, so that they are one profile over the radius.
std::vector<ResolutionPoint> table_of(std::vector<FoundSource> found, double same_z_mm) {
  std::ranges::sort(found, {}, [](const FoundSource& f) { return f.source.centre_mm.z; });
  std::vector<ResolutionPoint> points;
  for (std::size_t first = 0, end = 0; first < found.size(); first = end) {
    double sum = 0;
    while (end < found.size() && found[end].source.centre_mm.z - found[first].source.centre_mm.z < same_z_mm)
      sum += found[end++].source.centre_mm.z;
    for (std::size_t i = first; i < end; ++i)
      points.push_back({found[i].source.radius_mm(), sum / static_cast<double>(end - first), found[i].source.fwhm});
  }
  std::ranges::sort(points, {}, [](const ResolutionPoint& p) { return std::pair(p.z_mm, p.r_mm); });
  return points;
}

void report(const PsfOptions& options, const std::vector<FoundSource>& found) {
  if (options.json) {
    nlohmann::ordered_json sources = nlohmann::ordered_json::array();
    for (const auto& [file, source] : found)
      sources.push_back({{"file", file},
                         {"centre_mm", {source.centre_mm.x, source.centre_mm.y, source.centre_mm.z}},
                         {"r_mm", source.radius_mm()},
                         {"radial_mm", source.fwhm.radial_mm},
                         {"tangential_mm", source.fwhm.tangential_mm},
                         {"axial_mm", source.fwhm.axial_mm},
                         {"peak", source.peak},
                         {"residual", source.residual}});
    fmt::print("{}\n", nlohmann::ordered_json{{"file", options.output}, {"sources", sources}}.dump(2));
    return;
  }
  fmt::print("{:>8} {:>8}   FWHM in mm: {:>8} {:>10} {:>8}   fit off by\n", "r mm", "z mm", "radial", "tangential",
             "axial");
  for (const auto& [file, source] : found)
    fmt::print("{:8.1f} {:8.1f} {:>24.2f} {:>10.2f} {:>8.2f}   {:.1f} % of the peak\n", source.radius_mm(),
               source.centre_mm.z, source.fwhm.radial_mm, source.fwhm.tangential_mm, source.fwhm.axial_mm,
               100 * source.residual);
  fmt::print("{}\n", options.output);
}

void make_psf(const PsfOptions& options) {
  if (!options.output.ends_with(".csv"))
    throw InputError(fmt::format("-o {}: the table is CSV: name a file that ends in .csv", options.output));
  for (const std::string& input : options.inputs) from_input([&] { require_readable(input); });
  from_input([&] { make_folder(std::filesystem::absolute(options.output).parent_path()); });
  const std::vector<FoundSource> found = find_sources(options);
  const std::vector<ResolutionPoint> points = table_of(found, options.same_z_mm);
  from_input([&] { ResolutionTable{points}; });
  formats::write_psf_table(options.output, points, "FWHM of point sources, by tofstream psf");
  report(options, found);
}

}  // namespace

void add_psf(Command& app) {
  auto& command = app.add_command("psf", "Measure a scanner's resolution by radius and z, from point sources");
  auto options = std::make_shared<PsfOptions>();
  command.add_option("inputs", options->inputs, "Images of point sources in air, or recordings of such scans")
      .required();
  command.add_option("-o,--out", options->output, "CSV to write, as the gadget `psf` reads it").required();
  command
      .add_option("--threshold", options->search.threshold,
                  "A source has at least this fraction of its image's maximum")
      .within(0.01, 0.99)
      .shows_default();
  command
      .add_option("--window-mm", options->search.window_mm,
                  "A Gaussian is fitted within this distance along each axis; sources lie more than twice as far apart")
      .within(2.0, 200.0)
      .shows_default();
  command
      .add_option("--same-z-mm", options->same_z_mm, "Sources whose z differ by less are one profile over the radius")
      .within(0.0, 1000.0)
      .shows_default();
  command
      .add_option(
          "--pipeline", options->pipeline,
          "How to reconstruct a recording, with gadgets feed, file and picture; its image lies beside the table")
      .shows_default()
      .suggests(suggest_shared("pipelines"));
  command.add_option("--set", options->sets, "Override a parameter of it: image.voxel_mm=1").one_a_time();
  command.add_option("--backend", options->backend, "cpu, cuda or auto").suggests({"auto", "cpu", "cuda"});
  command.add_flag("--json", options->json, "Print JSON");
  command.add_flag("--quiet", options->quiet, "No progress");
  command.footer(
      "Examples: tofstream psf points.nii.gz -o psf.csv\n"
      "          tofstream psf r0.petsird r100.petsird r200.petsird --set image.voxel_mm=1 -o psf.csv\n"
      "'tofstream docs operators' says what the table is for, and what makes a point look too sharp.");
  command.on_run([options] { make_psf(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
