// A small camera and pipelines of it, for tests of whole reconstructions of views.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/views.hpp"
#include "tests/command/command.hpp"

namespace tofstream::spect_test {

/// 24 views of 32 x 24 pixels of 8 mm, two heads; written into the folder.
inline std::string small_camera(const std::filesystem::path& folder, const std::string& more = "") {
  const auto file = folder / "camera.yaml";
  std::ofstream(file) << "name: small\ncamera:\n  pixels: [32, 24]\n  pixel_mm: 8\n  heads_deg: [0, 180]\n  views: 12\n"
                         "  rotation_deg: 180\n  seconds: 10\n  radius_mm: 150\n  cps_per_MBq: 100\n"
                         "  collimator: {slope: 0.02, sigma0_mm: 2}\n"
                      << more;
  return file.string();
}

/// Images of the run, in the order of their updates.
std::vector<std::shared_ptr<const Estimate>>& images();

/// `source` and `subsets`: gadgets as a pipeline has them, without `from` of the latter.
inline std::string reconstruction(const std::string& camera, const std::string& source, const std::string& subsets,
                                  const std::string& projector = "") {
  return fmt::format(R"(
backend: cpu
image: auto
scanner: {0}
gadgets:
  feed: {{{1}}}
  subsets: {{{2}, from: feed}}
  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}{3}}}
  estimate: {{use: osem_update, from: projected}}
  kept: {{use: test_keep_images, from: estimate}}
)",
                     camera, source, subsets, projector);
}

inline RunReport run_it(const std::string& pipeline, const std::filesystem::path& folder) {
  images().clear();
  return Engine(parse_pipeline(pipeline, "test.yaml"), {.output_dir = folder}).run();
}

inline std::vector<float> voxels_of(const std::shared_ptr<const Estimate>& estimate) {
  return estimate->image->voxels.to_vector();
}

}  // namespace tofstream::spect_test
// SPDX-License-Identifier: Apache-2.0
