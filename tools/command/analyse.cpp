// `tofstream analyse`: regions of a phantom in reconstructed images. NEMA NU 2 contrast and background variability for
// the image-quality phantom, spheres against the annulus about each (Ha et al. 2013) where a phantom has regions of
// contrast, means against truth for others. Contrast-noise curves over iterations as a plot: of the first two kinds, or
// as in Cui et al. 2011 (II.C.3) the ratio of two regions' means over the spread of the second. Of a dynamic image, the
// regions' means over time.
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
#include "gadgets/io/image_file.hpp"
#include "gadgets/io/nifti/frame_times.hpp"
#include "gadgets/io/picture/plot.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "kernels/analysis/contrast.hpp"
#include "kernels/analysis/roi.hpp"
#include "tools/command/analyse_reference.hpp"
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
  std::string phantom, plot, reference;
  bool json = false;
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

// Those that share a label are one study, so that a curve can be of images that no run's folder holds together.
std::vector<Study> studies_of(const std::vector<std::string>& arguments) {
  std::vector<Study> studies;
  for (const std::string& argument : arguments) {
    Study study = study_of(argument);
    const auto same = std::ranges::find(studies, study.label, &Study::label);
    if (same == studies.end())
      studies.push_back(std::move(study));
    else
      same->files.insert(same->files.end(), study.files.begin(), study.files.end());
  }
  return studies;
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

double activity_at(const PhantomFile& file, Vec3d at) {
  return file.phantom.activity_at(at);
}

// A sphere's background is what the phantom has in the middle of its annulus.
AnnulusSphere annulus_sphere(const PhantomFile& file, const PhantomRegion& region) {
  const double radius = 0.5 * (region.diameter_mm + static_cast<double>(AnnulusLayout::gap_mm)) +
                        0.5 * static_cast<double>(AnnulusLayout::thickness_mm);
  return {region.centre_mm.as<float>(), static_cast<float>(region.diameter_mm),
          activity_at(file, region.centre_mm) / activity_at(file, region.centre_mm + Vec3d{radius, 0, 0})};
}

AnnulusLayout annulus_layout(const PhantomFile& file) {
  AnnulusLayout layout;
  for (const PhantomRegion& region : file.regions) {
    if (region.role == RegionRole::contrast) layout.spheres.push_back(annulus_sphere(file, region));
    if (region.role == RegionRole::noise)
      layout.noise = {region.centre_mm.as<float>(), static_cast<float>(region.diameter_mm)};
  }
  return layout;
}

ordered_json region_json(const Image& image, const PhantomFile& file, const PhantomRegion& region) {
  const auto centre = region.centre_mm.as<float>();
  const auto radius = static_cast<float>(region.diameter_mm / 2);
  const auto s = region.across ? statistics(image, Disc{centre, radius, *region.across})
                               : statistics(image, Sphere{centre, radius});
  return {{"name", region.name}, {"mean", s.mean}, {"std", s.std}, {"truth", activity_at(file, region.centre_mm)}};
}

ordered_json annulus_json(const Image& image, const PhantomFile& file) {
  const AnnulusResult result = annulus_contrast(image, annulus_layout(file));
  ordered_json spheres = ordered_json::array(), regions = ordered_json::array();
  auto of_sphere = result.spheres.begin();
  for (const PhantomRegion& region : file.regions) {
    if (region.role == RegionRole::mean) regions.push_back(region_json(image, file, region));
    if (region.role != RegionRole::contrast) continue;
    spheres.push_back({{"name", region.name},
                       {"recovery_percent", of_sphere->recovery_percent},
                       {"mean", of_sphere->mean},
                       {"annulus_mean", of_sphere->annulus_mean}});
    ++of_sphere;
  }
  ordered_json json{{"contrast", spheres}, {"recovery_percent", result.recovery_percent}};
  if (result.noise_percent) json["noise_percent"] = *result.noise_percent;
  if (!regions.empty()) json["regions"] = regions;
  return json;
}

ordered_json regions_json(const Image& image, const PhantomFile& file) {
  ordered_json regions = ordered_json::array();
  for (const PhantomRegion& region : file.regions) regions.push_back(region_json(image, file, region));
  return {{"regions", regions}};
}

void print_nema(const ordered_json& image) {
  fmt::print("  {:>12} {:>14} {:>26}\n", "sphere (mm)", "contrast (%)", "background variability (%)");
  for (const auto& s : image["spheres"])
    fmt::print("  {:>7.4g} {:<4} {:>14.1f} {:>26.1f}\n", s["diameter_mm"].get<double>(),
               s["hot"].get<bool>() ? "hot" : "cold", s["contrast_percent"].get<double>(),
               s["background_variability_percent"].get<double>());
}

void print_regions(const ordered_json& image) {
  fmt::print("  {:<20} {:>12} {:>12} {:>12}\n", "region", "mean", "std", "truth");
  for (const auto& r : image["regions"])
    fmt::print("  {:<20} {:>12.5g} {:>12.5g} {:>12.5g}\n", r["name"].get<std::string>(), r["mean"].get<double>(),
               r["std"].get<double>(), r["truth"].get<double>());
}

void print_annulus(const ordered_json& image) {
  fmt::print("  {:<20} {:>21} {:>12} {:>12}\n", "sphere", "contrast recovery (%)", "mean", "annulus");
  for (const auto& s : image["contrast"])
    fmt::print("  {:<20} {:>21.1f} {:>12.5g} {:>12.5g}\n", s["name"].get<std::string>(),
               s["recovery_percent"].get<double>(), s["mean"].get<double>(), s["annulus_mean"].get<double>());
  fmt::print("  {:<20} {:>21.1f}\n", "mean", image["recovery_percent"].get<double>());
  if (image.contains("noise_percent"))
    fmt::print("  {:<20} {:>21.1f}\n", "noise (%)", image["noise_percent"].get<double>());
  if (image.contains("regions")) print_regions(image);
}

// A point of a contrast-noise curve: a region's contrast in one image.
struct ContrastPoint {
  std::string region;
  double noise, contrast;
};

std::vector<ContrastPoint> nema_points(const ordered_json& image, const PhantomFile&) {
  std::vector<ContrastPoint> points;
  for (const auto& s : image["spheres"])
    points.push_back({fmt::format("{} mm", s["diameter_mm"].get<double>()),
                      s["background_variability_percent"].get<double>(), s["contrast_percent"].get<double>()});
  return points;
}

// One curve, of the spheres' mean.
std::vector<ContrastPoint> annulus_points(const ordered_json& image, const PhantomFile&) {
  if (!image.contains("noise_percent"))
    throw InputError("--plot draws contrast over the noise of a region of role noise, which the phantom does not name");
  return {{"", image["noise_percent"].get<double>(), image["recovery_percent"].get<double>()}};
}

// Each hot and cold region against the first plain one.
std::vector<ContrastPoint> ratio_points(const ordered_json& image, const PhantomFile& phantom) {
  const std::vector<PhantomRegion>& regions = phantom.regions;
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

// How a phantom is measured. The first whose role its regions have, or which needs none.
struct Measure {
  std::optional<RegionRole> role;
  ordered_json (*measured)(const Image&, const PhantomFile&);
  void (*print)(const ordered_json& image);
  std::vector<ContrastPoint> (*points)(const ordered_json& image, const PhantomFile&);
  const char *noise, *contrast;  // the axes of a plot
};

ordered_json nema_measured(const Image& image, const PhantomFile& file) {
  return nema_json(nema_image_quality(image, nema_layout(file)));
}

constexpr Measure measures[] = {
    {RegionRole::background, nema_measured, print_nema, nema_points, "background variability (%)",
     "contrast recovery (%)"},
    {RegionRole::contrast, annulus_json, print_annulus, annulus_points, "noise (%)", "contrast recovery (%)"},
    {std::nullopt, regions_json, print_regions, ratio_points, "noise (%)", "contrast (ratio of means)"}};

const Measure& measure_of(const PhantomFile& phantom) {
  return *std::ranges::find_if(measures, [&](const Measure& measure) {
    return !measure.role ||
           std::ranges::find(phantom.regions, *measure.role, &PhantomRegion::role) != phantom.regions.end();
  });
}

// A curve for each study and region, a point for each image.
void plot_contrast(const std::string& file, const ordered_json& studies, const PhantomFile& phantom,
                   const Measure& measure) {
  std::vector<PlotSeries> curves;
  for (const auto& study : studies) {
    const std::size_t first = curves.size();
    for (const auto& image : study["images"]) {
      const auto points = measure.points(image, phantom);
      curves.resize(first + points.size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        PlotSeries& curve = curves[first + i];
        curve.label = study["label"].get<std::string>();
        if (!points[i].region.empty()) curve.label += " " + points[i].region;
        curve.dashed = &study != &studies[0];
        curve.style =
            studies.size() > 2 ? first + i : i;  // two studies share a region's colour, more would not be told apart
        curve.x.push_back(points[i].noise);
        curve.y.push_back(points[i].contrast);
      }
    }
  }
  write_plot(file, curves,
             {.title = "Contrast and noise over iterations", .x_label = measure.noise, .y_label = measure.contrast});
}

// Mean activity of each region over time, a curve for each study and region.
void plot_over_time(const std::string& file, const ordered_json& studies) {
  std::vector<PlotSeries> curves;
  for (const auto& study : studies) {
    const std::size_t first = curves.size();
    for (const auto& image : study["images"])
      for (std::size_t i = 0; i < image["regions"].size(); ++i) {
        if (curves.size() == first + i) {
          curves.emplace_back();
          curves.back().label = fmt::format("{} {}", study["label"].get<std::string>(),
                                            image["regions"][i]["name"].get<std::string>());
          curves.back().style = i;
          curves.back().dashed = &study != &studies[0];
        }
        curves[first + i].x.push_back(image["start_s"].get<double>() + 0.5 * image["duration_s"].get<double>());
        curves[first + i].y.push_back(image["regions"][i]["mean"].get<double>());
      }
  }
  write_plot(file, curves, {.title = "Regions over time", .x_label = "scan time (s)", .y_label = "mean"});
}

// A file's images as measured: one, or each frame's, whose regions are then looked at one by one.
std::vector<ordered_json> measured_images(const fs::path& file, const PhantomFile& phantom, const Measure& measure) {
  const std::vector<Image> frames = read_image_frames(file);
  if (frames.size() == 1) {
    ordered_json image{{"file", file.string()}};
    image.update(measure.measured(frames.front(), phantom));
    return {std::move(image)};
  }
  const auto times = read_frame_times(file, frames.size());
  if (!times)
    throw std::runtime_error(fmt::format("{}: {} frames, and no {} that says when they were", file.string(),
                                         frames.size(), frame_times_path(file).filename().string()));
  std::vector<ordered_json> images;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    images.push_back({{"file", file.string()},
                      {"frame", f + 1},
                      {"start_s", times->start_s[f]},
                      {"duration_s", times->duration_s[f]}});
    images.back().update(regions_json(frames[f], phantom));
  }
  return images;
}

void print_image(const ordered_json& image, const Measure& measure) {
  fmt::print("\n{}", image["file"].get<std::string>());
  if (!image.contains("frame")) {
    fmt::print("\n");
    return measure.print(image);
  }
  const double start_s = image["start_s"].get<double>();
  fmt::print(", frame {} ({:g} to {:g} s)\n", image["frame"].get<int>(), start_s,
             start_s + image["duration_s"].get<double>());
  print_regions(image);
}

// Whether all images are frames, whose regions go over time.
bool are_frames(const ordered_json& studies) {
  for (const auto& study : studies)
    for (const auto& image : study["images"])
      if (!image.contains("frame")) return false;
  return true;
}

void run(const AnalyseOptions& options) {
  const PhantomFile phantom =
      from_input([&] { return formats::read_phantom(find_shared("phantoms", options.phantom)); });
  if (phantom.regions.empty())
    throw InputError(fmt::format("{}: the phantom names no regions to analyse", options.phantom));
  if (!options.reference.empty())
    return analyse_against_reference(studies_of(options.images), phantom, options.reference, options.json);
  const Measure& measure = measure_of(phantom);
  ordered_json studies = ordered_json::array();
  for (const Study& study : studies_of(options.images)) {
    ordered_json images = ordered_json::array();
    for (const fs::path& file : study.files)
      for (ordered_json& image : from_input([&] { return measured_images(file, phantom, measure); })) {
        if (!options.json) print_image(image, measure);
        images.push_back(std::move(image));
      }
    studies.push_back({{"label", study.label}, {"images", std::move(images)}});
  }
  if (options.json) fmt::print("{}\n", ordered_json{{"studies", studies}}.dump(2));
  if (options.plot.empty()) return;
  if (are_frames(studies))
    plot_over_time(options.plot, studies);
  else
    plot_contrast(options.plot, studies, phantom, measure);
  if (!options.json) fmt::print("\n{}\n", options.plot);
}

}  // namespace

void add_analyse(Command& app) {
  auto& command = app.add_command(
      "analyse", "Measure a phantom's regions in images: contrast and noise, NEMA's or by annuli, or means");
  auto options = std::make_shared<AnalyseOptions>();
  command
      .add_option("images", options->images,
                  "Images, or output folders for the images of their runs, each as PATH or LABEL=PATH; those of one "
                  "label are one curve")
      .required();
  command.add_option("--phantom", options->phantom, "A phantom of share/phantoms, or a YAML file")
      .required()
      .suggests(suggest_shared("phantoms"));
  const Option& plot = command.add_option("--plot", options->plot, "Draw contrast-noise curves into this PNG or SVG");
  command
      .add_option(
          "--reference", options->reference,
          "A converged image of the same data: compare with it, and say from which image on ten in a row are within "
          "1 % of the object, 1 % of the background (root mean square) and 0.5 % of every region's mean")
      .excludes(plot);
  command.add_flag("--json", options->json, "Print JSON");
  command.footer(
      "Examples: tofstream analyse tof=out/tof non-tof=out/plain --phantom nema_iq --plot curves.png\n"
      "          tofstream analyse osem=out --phantom nema_iq --reference converged.nii.gz");
  command.on_run([options] { run(*options); });
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
