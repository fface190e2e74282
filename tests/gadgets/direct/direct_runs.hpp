// A small ring with ToF, a phantom, its mu map, and runs of pipelines with them, for the tests of DIRECT.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"

namespace tofstream::direct_test {

/// 1536 crystals of 6 mm in 24 blocks of 8 x 8, 300 ps.
inline std::string small_ring(const std::filesystem::path& folder,
                              const std::string& tof = "{fwhm_ps: 300, bins: 41, bin_ps: 75}") {
  const auto file = folder / "ring.yaml";
  std::ofstream(file) << "name: small\ninner_radius_mm: 190\nfov_radius_mm: 130\n"
                         "modules: {transaxial: 24, axial: 1}\n"
                         "crystals: {transaxial: 8, axial: 8, size_mm: [5.8, 5.8], pitch_mm: [6, 6],\n"
                         "  layers: [{depth_mm: 20, attenuation_per_cm: 0.83}]}\n"
                         "coincidence: {window_ns: 4, min_sector_difference: 5}\n"
                         "energy: {low_keV: 435, high_keV: 650, resolution: 0.12}\n"
                      << (tof.empty() ? "" : "tof: " + tof + "\n");
  return file.string();
}

constexpr double water_Bq_mL = 10000;

/// Water of 16 cm that ends within the image, with a sphere of four times the activity.
inline std::string water(const std::filesystem::path& folder, bool has_sphere) {
  const auto file = folder / "water.yaml";
  std::ofstream phantom(file);
  phantom
      << "name: water\nmu_keV: 511\nsolids:\n"
         "  - {name: water, shape: cylinder, radius_mm: 80, length_mm: 44, activity_Bq_mL: 10000, mu_per_cm: 0.096}\n";
  if (has_sphere)
    phantom
        << "  - {name: hot, shape: sphere, centre_mm: [36, 12, 3], diameter_mm: 30, activity_Bq_mL: 40000, mu_per_cm: "
           "0.096}\n";
  return file.string();
}

inline const Grid grid = Grid::centred(36, 36, 9, {6, 6, 6});
constexpr auto* image_words = "{size: [36, 36, 9], voxel_mm: 6}";

inline std::string mu_map_of(const std::string& phantom, const std::filesystem::path& folder) {
  const auto file = folder / "mu.nii.gz";
  write_nifti(file, formats::read_phantom(phantom).phantom.mu_image(grid));
  return file.string();
}

/// The last image of the run.
std::shared_ptr<const Estimate>& last_image();
/// Of the run so far.
std::atomic<std::int64_t>& updates_seen();

struct DirectPipeline {
  std::string ring, phantom, mu_map;
  int events = 400'000;
  std::string deposit = "";                    // more parameters of histo_deposit
  std::string projector = "lor_fwhm_mm: 7.5";  // of direct_projector
  std::string update = "use: osem_update";
  std::string subsets = "subsets: 12, iterations: 3";
  std::string source = "";  // more parameters of the simulator

  std::string head() const {
    return fmt::format(
        "backend: cpu\nimage: {}\n{}gadgets:\n  photons: {{use: simulator, scanner: {}, phantom: {}, events: {}{}}}\n",
        image_words, mu_map.empty() ? "" : "mu_map: " + mu_map + "\n", ring, phantom, events, source);
  }
  std::string direct() const {
    return head() + fmt::format(
                        "  histo: {{use: histo_deposit, from: photons, views: [24, 3], acceptance_deg: 9{}}}\n"
                        "  subsets: {{use: view_subsets, from: histo, {}}}\n"
                        "  projected: {{use: direct_projector, from: {{views: subsets, image: estimate}}, {}}}\n"
                        "  estimate: {{{}, from: projected}}\n  kept: {{use: test_keep_last_image, from: estimate}}\n",
                        deposit, subsets, projector, update);
  }
  std::string list_mode() const {
    return head() + fmt::format(
                        "  sorted: {{use: tof_partition, from: photons}}\n"
                        "  subsets: {{use: subset_builder, from: sorted, {}}}\n"
                        "  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, "
                        "log_likelihood: true, sensitivity: {{cache: false}}}}\n"
                        "  estimate: {{{}, from: projected}}\n  kept: {{use: test_keep_last_image, from: estimate}}\n",
                        subsets, update);
  }
};

/// Of the water's middle, radially and axially.
inline double mean_of_water(const Image& image, float radius_mm = 60) {
  double sum = 0;
  int voxels = 0;
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      for (int i = 0; i < image.grid.size[0]; ++i) {
        const Vec3 at = image.grid.centre(i, j, k);
        if (std::hypot(at.x, at.y) > radius_mm || std::abs(at.z) > 16) continue;
        sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
        ++voxels;
      }
  return sum / voxels;
}

inline RunReport run_pipeline(const std::string& pipeline, const std::filesystem::path& folder) {
  last_image() = nullptr;
  return Engine(parse_pipeline(pipeline, "test.yaml"), {.output_dir = folder, .earlier_run = EarlierRun::overwrite})
      .run();
}

}  // namespace tofstream::direct_test
// SPDX-License-Identifier: Apache-2.0
