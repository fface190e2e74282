// `tofstream analyse`: regions of a phantom in reconstructed images. NEMA NU 2 contrast and background variability for
// the image-quality phantom, means against truth for others; contrast-noise curves over iterations as a plot: NEMA's,
// or as in Cui et al. 2011 (II.C.3) the ratio of two regions' means over the spread of the second.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/report/run_folder.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/picture/plot.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "kernels/analysis/contrast.hpp"
#include "kernels/analysis/roi.hpp"
#include "tools/command/commands.hpp"
#include "tools/command/suggestions.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;
using formats::PhantomFile;
using formats::PhantomRegion;
using formats::RegionRole;
using nlohmann::ordered_json;

struct AnalyseOptions {
  std::vector<std::string> images;
  std::string phantom, plot;
  bool json = false;
};

struct Study {
  std::string label;
  std::vector<fs::path> files;
};

// What of a run's files stands for the study: the numbered images of the writer of image.nii.gz (or of the only
// writer), else its final one.
std::vector<fs::path> images_of_run(const fs::path& folder) {
  std::map<std::string, std::vector<fs::path>> by_writer;
  std::optional<std::string> chosen;
  for (const RunFile& file : files_of_run(folder)) {
    if (!file.name.ends_with(".nii.gz") && !file.name.ends_with(".nii")) continue;
    by_writer[file.gadget].push_back(folder / file.name);
    if (file.name == "image.nii.gz") chosen = file.gadget;
  }
  if (by_writer.empty()) throw InputError(fmt::format("{}: its run left no images", folder.string()));
  if (!chosen && by_writer.size() > 1)
    throw InputError(
        fmt::format("{}: its run has images of several gadgets, and none is called image.nii.gz: name the "
                    "images instead of the folder",
                    folder.string()));
  std::vector<fs::path> images = chosen ? by_writer[*chosen] : by_writer.begin()->second;
  std::ranges::sort(images);
  if (images.size() == 1) return images;
  // The final image, image.nii.gz, goes before image_0001.nii.gz and is the last of these once more.
  const std::string first = images[0].filename().string(), second = images[1].filename().string();
  if (second.starts_with(first.substr(0, first.find('.')) + "_")) images.erase(images.begin());
  return images;
}

// `label=folder`, `label=image`, or either without a label. A folder stands for the images of its run.
Study study_of(const std::string& argument) {
  const auto equals = argument.find('=');
  const fs::path path = equals == std::string::npos ? argument : argument.substr(equals + 1);
  const std::string label = equals == std::string::npos ? path.string() : argument.substr(0, equals);
  if (!fs::is_directory(path)) return {label, {path}};
  return {label, from_input([&] { return images_of_run(path); })};
}

NemaLayout nema_layout(const PhantomFile& file) {
  NemaLayout layout;
  for (const PhantomRegion& region : file.regions) {
    if (region.role == RegionRole::hot || region.role == RegionRole::cold)
      layout.spheres.push_back(
          {region.centre_mm.as<float>(), static_cast<float>(region.diameter_mm), region.role == RegionRole::hot});
    if (region.role == RegionRole::background) layout.background_mm.push_back(region.centre_mm.as<float>());
    if (region.role == RegionRole::lung) {
      layout.lung_centre_mm = region.centre_mm.as<float>();
      layout.lung_diameter_mm = static_cast<float>(region.diameter_mm);
    }
  }
  const auto hot = std::ranges::find(layout.spheres, true, &NemaSphere::hot);
  if (hot != layout.spheres.end() && !layout.background_mm.empty())
    layout.activity_ratio = static_cast<float>(file.phantom.activity_at(hot->centre_mm.as<double>()) /
                                               file.phantom.activity_at(layout.background_mm.front().as<double>()));
  return layout;
}

ordered_json nema_json(const NemaResult& result) {
  ordered_json spheres = ordered_json::array();
  for (const auto& s : result.spheres)
    spheres.push_back({{"diameter_mm", s.diameter_mm},
                       {"hot", s.hot},
                       {"contrast_percent", s.contrast_percent},
                       {"background_mean", s.background_mean},
                       {"background_variability_percent", s.background_variability_percent}});
  ordered_json json{{"spheres", spheres}};
  if (!result.lung_residual_percent.empty()) json["lung_residual_percent"] = result.lung_residual_percent;
  return json;
}

ordered_json region_json(const Image& image, const PhantomFile& file) {
  ordered_json regions = ordered_json::array();
  for (const PhantomRegion& region : file.regions) {
    const auto centre = region.centre_mm.as<float>();
    const auto radius = static_cast<float>(region.diameter_mm / 2);
    const auto s = region.across ? statistics(image, Disc{centre, radius, *region.across})
                                 : statistics(image, Sphere{centre, radius});
    regions.push_back({{"name", region.name},
                       {"mean", s.mean},
                       {"std", s.std},
                       {"truth", file.phantom.activity_at(region.centre_mm)}});
  }
  return {{"regions", regions}};
}

void print(const ordered_json& image) {
  fmt::print("\n{}\n", image["file"].get<std::string>());
  if (image.contains("spheres")) {
    fmt::print("  {:>12} {:>14} {:>26}\n", "sphere (mm)", "contrast (%)", "background variability (%)");
    for (const auto& s : image["spheres"])
      fmt::print("  {:>7} {:<4} {:>14.1f} {:>26.1f}\n", s["diameter_mm"].get<double>(),
                 s["hot"].get<bool>() ? "hot" : "cold", s["contrast_percent"].get<double>(),
                 s["background_variability_percent"].get<double>());
    return;
  }
  fmt::print("  {:<20} {:>12} {:>12} {:>12}\n", "region", "mean", "std", "truth");
  for (const auto& r : image["regions"])
    fmt::print("  {:<20} {:>12.5g} {:>12.5g} {:>12.5g}\n", r["name"].get<std::string>(), r["mean"].get<double>(),
               r["std"].get<double>(), r["truth"].get<double>());
}

// A point of a contrast-noise curve: a region's contrast in one image.
struct ContrastPoint {
  std::string region;
  double noise, contrast;
};

std::vector<ContrastPoint> nema_points(const ordered_json& image) {
  std::vector<ContrastPoint> points;
  for (const auto& s : image["spheres"])
    points.push_back({fmt::format("{} mm", s["diameter_mm"].get<double>()),
                      s["background_variability_percent"].get<double>(), s["contrast_percent"].get<double>()});
  return points;
}

// Each hot and cold region against the first plain one.
std::vector<ContrastPoint> ratio_points(const ordered_json& image, const std::vector<PhantomRegion>& regions) {
  const auto plain = std::ranges::find(regions, RegionRole::mean, &PhantomRegion::role);
  if (plain == regions.end())
    throw InputError("--plot draws contrast against a region of role mean, which the phantom does not name");
  const auto& reference = image["regions"][static_cast<std::size_t>(plain - regions.begin())];
  const double mean = reference["mean"].get<double>();
  std::vector<ContrastPoint> points;
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (regions[i].role != RegionRole::mean)
      points.push_back({fmt::format("{} / {}", regions[i].name, plain->name),
                        100 * reference["std"].get<double>() / mean, image["regions"][i]["mean"].get<double>() / mean});
  return points;
}

// A curve for each study and region, a point for each image.
void plot_contrast(const std::string& file, const ordered_json& studies, const PhantomFile& phantom, bool nema) {
  std::vector<PlotSeries> curves;
  for (const auto& study : studies) {
    const std::size_t first = curves.size();
    for (const auto& image : study["images"]) {
      const auto points = nema ? nema_points(image) : ratio_points(image, phantom.regions);
      curves.resize(first + points.size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        PlotSeries& curve = curves[first + i];
        curve.label = fmt::format("{} {}", study["label"].get<std::string>(), points[i].region);
        curve.dashed = &study != &studies[0];
        curve.style =
            studies.size() > 2 ? first + i : i;  // two studies share a region's colour, more would not be told apart
        curve.x.push_back(points[i].noise);
        curve.y.push_back(points[i].contrast);
      }
    }
  }
  write_plot(file, curves,
             {.title = "Contrast and noise over iterations",
              .x_label = nema ? "background variability (%)" : "noise (%)",
              .y_label = nema ? "contrast recovery (%)" : "contrast (ratio of means)"});
}

void run(const AnalyseOptions& options) {
  const PhantomFile phantom =
      from_input([&] { return formats::read_phantom(find_shared("phantoms", options.phantom)); });
  if (phantom.regions.empty())
    throw InputError(fmt::format("{}: the phantom names no regions to analyse", options.phantom));
  const bool nema =
      std::ranges::any_of(phantom.regions, [](const auto& r) { return r.role == RegionRole::background; });
  ordered_json studies = ordered_json::array();
  for (const std::string& argument : options.images) {
    const Study study = study_of(argument);
    ordered_json images = ordered_json::array();
    for (const fs::path& file : study.files) {
      ordered_json image{{"file", file.string()}};
      image.update(from_input([&] {
        const Image voxels = read_nifti(file);
        return nema ? nema_json(nema_image_quality(voxels, nema_layout(phantom))) : region_json(voxels, phantom);
      }));
      if (!options.json) print(image);
      images.push_back(std::move(image));
    }
    studies.push_back({{"label", study.label}, {"images", std::move(images)}});
  }
  if (options.json) fmt::print("{}\n", ordered_json{{"studies", studies}}.dump(2));
  if (options.plot.empty()) return;
  plot_contrast(options.plot, studies, phantom, nema);
  if (!options.json) fmt::print("\n{}\n", options.plot);
}

}  // namespace

void add_analyse(Command& app) {
  auto& command =
      app.add_command("analyse", "Measure a phantom's regions in images: NEMA contrast and variability, or means");
  auto options = std::make_shared<AnalyseOptions>();
  command
      .add_option("images", options->images,
                  "Images, or output folders for the images of their runs, each as PATH or LABEL=PATH")
      .required();
  command.add_option("--phantom", options->phantom, "A phantom of share/phantoms, or a YAML file")
      .required()
      .suggests(suggest_shared("phantoms"));
  command.add_option("--plot", options->plot, "Draw contrast-noise curves into this PNG or SVG");
  command.add_flag("--json", options->json, "Print JSON");
  command.footer("Example: tofstream analyse tof=out/tof non-tof=out/plain --phantom nema_iq --plot curves.png");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
