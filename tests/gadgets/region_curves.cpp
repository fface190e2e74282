// region_curves: the means of regions in the frames that are written, and what it refuses.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "core/run/engine.hpp"
#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/analysis/roi.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

constexpr auto* curves_phantom = R"(name: two
solids:
  - {name: body, shape: cylinder, radius_mm: 90, length_mm: 120, activity_Bq_mL: 6000}
regions:
  - {name: "left, upper", role: mean, centre_mm: [-40, 20, 0], diameter_mm: 40}
  - {name: disc, role: mean, centre_mm: [30, 0, 0], diameter_mm: 50, across: z}
)";

RunReport curves_of(const std::filesystem::path& folder, const std::string& subsets, const std::string& phantom) {
  const std::string file = folder / "phantom.yaml";
  std::ofstream(file) << phantom;
  const std::string yaml = fmt::format(R"(
scanner: demo_ring
backend: cpu
image: {{size: [16, 16, 8], voxel_mm: [14, 14, 18]}}
gadgets:
  photons: {{use: simulator, phantom: uniform_cylinder, seconds: 0.06, activity_scale: 0.3, batch_events: 1000, attenuation: false}}
  sorted: {{use: tof_partition, from: photons}}
  subsets: {{{}, from: sorted}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}, sensitivity: {{exact_pairs: 0,
    sampled_pairs: 100000, cache: false}}}}
  estimate: {{use: osem_update, from: projected}}
  file: {{use: nifti_writer, from: estimate}}
  curves: {{use: region_curves, from: estimate, phantom: {}}}
)",
                                       subsets, file);
  return Engine(parse_pipeline(yaml, "test.yaml"), {.output_dir = folder / "run", .earlier_run = EarlierRun::overwrite})
      .run();
}

std::string text_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("curves of regions are their means in the frames that are written") {
  const TemporaryFolder folder;
  const RunReport report =
      curves_of(folder.path(), "use: framing, frames: [2x0.02, 0.01], subsets: 2, iterations: 2", curves_phantom);
  REQUIRE_MESSAGE(report.exit_code == 0, (report.errors.empty() ? "the books" : report.errors[0].text()));
  const auto found = std::ranges::find(report.gadgets, "curves", &GadgetReport::name);
  REQUIRE(found != report.gadgets.end());
  const auto numbers = [&](const char* key) { return std::get<std::vector<double>>(found->figures.at(key)); };
  CHECK(numbers("curve_time_s") == std::vector<double>{0.01, 0.03, 0.045});
  const auto frames = read_nifti_volumes(folder / "run/image.nii.gz");
  REQUIRE(frames.size() == 3);
  for (std::size_t f = 0; f < 3; ++f) {
    CHECK(numbers("curve left, upper")[f] == statistics(frames[f], Sphere{{-40, 20, 0}, 20}).mean);
    CHECK(numbers("curve disc")[f] == statistics(frames[f], Disc{{30, 0, 0}, 25, 2}).mean);
    CHECK(numbers("curve disc")[f] == approx(3000).epsilon(0.25));
  }
  const std::string table = text_in(folder / "run/curves.csv");
  CHECK(table.starts_with("start_s,duration_s,\"left, upper\",disc\n0.000000,0.020000,"));
  CHECK(std::ranges::count(table, '\n') == 4);
}

TEST_CASE("curves of regions need frames and regions inside the image, and say so") {
  const TemporaryFolder folder;
  const RunReport plain = curves_of(folder.path(), "use: subset_builder, subsets: 2, iterations: 1", curves_phantom);
  CHECK(plain.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "run/curves.csv"));
  const std::string solids =
      "name: other\nsolids:\n  - {name: body, shape: cylinder, radius_mm: 90, length_mm: 120, activity_Bq_mL: 1}\n";
  const std::string far = solids + "regions:\n  - {name: off, role: mean, centre_mm: [400, 0, 0], diameter_mm: 20}\n";
  const RunReport outside = curves_of(folder.path(), "use: framing, frames: [0.02], subsets: 1", far);
  REQUIRE(!outside.errors.empty());
  CHECK_MESSAGE(outside.errors[0].text().find("region off: ") != std::string::npos, outside.errors[0].text());
  const RunReport none = curves_of(folder.path(), "use: framing, frames: [0.02], subsets: 1", solids);
  REQUIRE(!none.errors.empty());
  CHECK(none.errors[0].text().find("has no region that is a sphere or a disc") != std::string::npos);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
