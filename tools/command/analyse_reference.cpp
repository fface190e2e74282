// Series of images against a converged one: see analyse_reference.hpp.
#include "tools/command/analyse_reference.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gadgets/io/date_time.hpp"
#include "gadgets/io/image_file.hpp"
#include "kernels/analysis/convergence.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

namespace fs = std::filesystem;
using formats::PhantomRegion;
using formats::RegionRole;
using nlohmann::ordered_json;

constexpr std::size_t held_images = 10;  // within the limits, before a series counts as converged
constexpr ConvergenceLimits limits;

bool is_slice_of(const PhantomRegion& region, int axis, double centre_mm, double edge_mm) {
  const auto is_at = [&](double slice_mm) { return std::abs(slice_mm - centre_mm) <= 0.5 * edge_mm; };
  if (region.across) return is_at(region.centre_mm[axis]);
  return std::ranges::any_of(region.slices_mm, is_at);
}

bool is_in(const PhantomRegion& region, const Grid& grid, Vec3d at) {
  const double radius = 0.5 * region.diameter_mm;
  if (!region.across && region.slices_mm.empty()) return norm(at - region.centre_mm) <= radius;
  const int axis = region.across.value_or(2);
  if (!is_slice_of(region, axis, at[axis], static_cast<double>(grid.voxel_mm[axis]))) return false;
  Vec3d within = at - region.centre_mm;
  within.set(axis, 0);
  return norm(within) <= radius;
}

/// The voxels whose centre `holds`.
template <class Holds>
VoxelList voxels_where(const Grid& grid, const Holds& holds) {
  VoxelList voxels;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i)
        if (holds(grid.centre(i, j, k).as<double>())) voxels.push_back(grid.index(i, j, k));
  return voxels;
}

struct ComparedRegions {
  ConvergenceRegions voxels;
  std::vector<std::string> names;  // of voxels.regions
};

RegionRole role_of_background(const std::vector<PhantomRegion>& regions) {
  for (const RegionRole role : {RegionRole::background, RegionRole::noise, RegionRole::mean})
    if (std::ranges::find(regions, role, &PhantomRegion::role) != regions.end()) return role;
  throw InputError(
      "--reference: the phantom names no region of role background, noise or mean, to which errors relate");
}

ComparedRegions regions_on(const Grid& grid, const formats::PhantomFile& phantom) {
  const RegionRole role = role_of_background(phantom.regions);
  std::vector<const PhantomRegion*> background;
  for (const PhantomRegion& region : phantom.regions)
    if (region.role == role && (role != RegionRole::mean || background.empty())) background.push_back(&region);
  ComparedRegions result;
  result.voxels.object = voxels_where(
      grid, [&](Vec3d at) { return phantom.phantom.activity_at(at) > 0 || phantom.phantom.mu_at(at) > 0; });
  result.voxels.background = voxels_where(grid, [&](Vec3d at) {
    return std::ranges::any_of(background, [&](const PhantomRegion* region) { return is_in(*region, grid, at); });
  });
  for (const PhantomRegion& region : phantom.regions) {
    if (std::ranges::find(background, &region) != background.end()) continue;
    result.voxels.regions.push_back(voxels_where(grid, [&](Vec3d at) { return is_in(region, grid, at); }));
    result.names.push_back(region.name);
  }
  return result;
}

/// When the file was written, after the run began whose folder it lies in; nothing where no run.json says that.
std::optional<double> seconds_into_run(const fs::path& file) {
  std::ifstream stream(file.parent_path() / "run.json");
  const auto run = nlohmann::json::parse(stream, nullptr, false);
  if (run.is_discarded() || !run.contains("started") || !run["started"].is_string()) return std::nullopt;
  std::string started = run["started"];
  if (started.ends_with('Z')) started.pop_back();
  const auto written = std::chrono::file_clock::to_sys(fs::last_write_time(file));
  return seconds_between(read_date_time("started", started),
                         std::chrono::time_point_cast<std::chrono::microseconds>(written));
}

ordered_json measured(const fs::path& file, const Image& reference, const ComparedRegions& regions) {
  const ConvergenceMeasures measures = from_input([&] {
    try {
      return convergence(read_image_file(file), reference, regions.voxels);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
    }
  });
  ordered_json of_regions = ordered_json::array();
  for (std::size_t i = 0; i < regions.names.size(); ++i)
    of_regions.push_back({{"name", regions.names[i]}, {"error_percent", 100 * measures.regions[i]}});
  ordered_json image{{"file", file.string()},
                     {"object_rmse_percent", 100 * measures.object},
                     {"background_rmse_percent", 100 * measures.background},
                     {"worst_region_percent", 100 * measures.worst_region()},
                     {"regions", of_regions},
                     {"within", limits.hold(measures)}};
  if (const auto seconds = seconds_into_run(file)) image["seconds"] = *seconds;
  return image;
}

/// The first image of ten in a row that are within the limits; null where there is none.
ordered_json first_held(const ordered_json& images) {
  std::size_t row = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    row = images[i]["within"].get<bool>() ? row + 1 : 0;
    if (row < held_images) continue;
    const std::size_t first = i + 1 - held_images;
    ordered_json held{{"image", first + 1}, {"file", images[first]["file"]}};
    if (images[first].contains("seconds")) held["seconds"] = images[first]["seconds"];
    return held;
  }
  return nullptr;
}

void print(const ordered_json& study) {
  fmt::print("\n{}\n  {:>5} {:>11} {:>15} {:>17}\n", study["label"].get<std::string>(), "image", "object (%)",
             "background (%)", "worst region (%)");
  std::size_t number = 0;
  for (const auto& image : study["images"])
    fmt::print("  {:>5} {:>11.2f} {:>15.2f} {:>17.2f}{}\n", ++number, image["object_rmse_percent"].get<double>(),
               image["background_rmse_percent"].get<double>(), image["worst_region_percent"].get<double>(),
               image["within"].get<bool>() ? "  within" : "");
  const auto& held = study["held_from"];
  if (held.is_null()) {
    fmt::print("  not within {:g} %, {:g} % and {:g} % in {} images in a row\n", 100 * limits.object,
               100 * limits.background, 100 * limits.region, held_images);
    return;
  }
  fmt::print(
      "  within the limits from image {} on{}\n", held["image"].get<std::size_t>(),
      held.contains("seconds") ? fmt::format(", {:.3g} s after the run began", held["seconds"].get<double>()) : "");
}

}  // namespace

void analyse_against_reference(const std::vector<Study>& studies, const formats::PhantomFile& phantom,
                               const fs::path& reference, bool json) {
  const Image converged = from_input([&] { return read_image_file(reference); });
  const ComparedRegions regions = regions_on(converged.grid, phantom);
  ordered_json result{{"reference", reference.string()}, {"studies", ordered_json::array()}};
  for (const Study& study : studies) {
    ordered_json images = ordered_json::array();
    for (const fs::path& file : study.files) images.push_back(measured(file, converged, regions));
    ordered_json held = first_held(images);
    result["studies"].push_back(
        {{"label", study.label}, {"images", std::move(images)}, {"held_from", std::move(held)}});
    if (!json) print(result["studies"].back());
  }
  if (json) fmt::print("{}\n", result.dump(2));
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
