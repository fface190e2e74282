// Whole reconstructions of views: simulated, offline, live, followed again.
#include <chrono>
#include <cmath>
#include <numbers>
#include <thread>

#include "tests/gadgets/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {

namespace spect_test {
std::vector<std::shared_ptr<const Estimate>>& images() {
  static std::vector<std::shared_ptr<const Estimate>> all;
  return all;
}
}  // namespace spect_test

namespace {

using namespace spect_test;

struct KeepImages {
  void process(std::shared_ptr<const Estimate> estimate) {
    if (estimate->step.update > 0 && !estimate->step.restart) images().push_back(std::move(estimate));
  }
};
TOFSTREAM_GADGET(KeepImages, "test_keep_images", "Keeps the image of each update");

// Gives the projector time between views, as a gantry that turns does.
struct Gantry {
  static constexpr bool own_thread = true;
  void process(std::shared_ptr<const ViewBatch> views, Emit<ViewBatch>& emit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    emit(ViewBatch(*views));
  }
};
TOFSTREAM_GADGET(Gantry, "test_gantry", "Views at the pace of a gantry");

constexpr Vec3d points[] = {{60, -48, 40}, {-48, -64, -24}, {20, 72, 8}};

// Balls of 12 mm of 1 MBq/mL, each elsewhere on all axes.
std::string three_balls(const std::filesystem::path& folder, const char* mu = "0") {
  const auto file = folder / "balls.yaml";
  std::ofstream phantom(file);
  phantom << "name: balls\nsolids:\n";
  phantom << "  - {shape: cylinder, radius_mm: 110, length_mm: 180, mu_per_cm: " << mu << "}\n";
  for (const Vec3d& p : points)
    phantom << fmt::format("  - {{shape: sphere, centre_mm: [{}, {}, {}], diameter_mm: 12, activity_Bq_mL: 1000000}}\n",
                           p.x, p.y, p.z);
  return file.string();
}

std::string simulated(const std::string& phantom, double counts = 300000) {
  return fmt::format("use: spect_simulator, phantom: {}, events: {}", phantom, counts);
}

struct Seen {
  Vec3d centroid;
  double Bq = 0;
};

// Within 28 mm of a point.
Seen seen_at(const Estimate& estimate, Vec3d point) {
  const Grid& grid = estimate.image->grid;
  Seen seen;
  for (int k = 0; k < grid.size[2]; ++k)
    for (int j = 0; j < grid.size[1]; ++j)
      for (int i = 0; i < grid.size[0]; ++i) {
        const Vec3d at = grid.centre(i, j, k).as<double>();
        if (norm(at - point) > 28) continue;
        const double value = estimate.image->voxels[grid.index(i, j, k)];
        seen.Bq += value;
        seen.centroid = seen.centroid + value * at;
      }
  seen.centroid = (1 / seen.Bq) * seen.centroid;
  seen.Bq *= static_cast<double>(grid.voxel_volume()) * 1e-3;
  return seen;
}

}  // namespace

TEST_CASE("points that a camera saw come out where they are, with their activity in Bq") {
  const TemporaryFolder folder;
  const RunReport report = run_it(reconstruction(small_camera(folder.path()), simulated(three_balls(folder.path())),
                                                 "use: view_subsets, subsets: 4, iterations: 10"),
                                  folder.path());
  REQUIRE(report.exit_code == 0);
  CHECK(report.books.balanced());
  REQUIRE(images().size() == 40);
  const Estimate& last = *images().back();
  REQUIRE(last.quantity);
  CHECK(label_of(*last.quantity).starts_with("Bq/mL"));
  const double truth = 1e6 * 4 / 3 * std::numbers::pi * 0.6 * 0.6 * 0.6;
  for (const Vec3d& point : points) {
    const Seen seen = seen_at(last, point);
    CAPTURE(point.x);
    CHECK(norm(seen.centroid - point) < 1);
    CHECK(seen.Bq == approx(truth).epsilon(0.03));
  }
}

TEST_CASE("one subset of OSEM is MLEM: after each update the counts that the image explains are those of the scan") {
  const TemporaryFolder folder;
  const RunReport report =
      run_it(reconstruction(small_camera(folder.path()), simulated(three_balls(folder.path())),
                            "use: view_subsets, subsets: 1, iterations: 5", ", log_likelihood: true"),
             folder.path());
  REQUIRE(report.exit_code == 0);
  const auto projected = std::ranges::find(report.gadgets, "projected", &GadgetReport::name);
  const auto likelihood = std::get<std::vector<double>>(projected->figures.at("log_likelihood"));
  REQUIRE(likelihood.size() == 5);
  for (std::size_t i = 1; i < likelihood.size(); ++i) CHECK(likelihood[i] >= likelihood[i - 1]);
}

TEST_CASE(
    "live views are reconstructed as they come; begun again offline, the image is that of view_subsets bit for bit") {
  const TemporaryFolder folder, live_folder, followed;
  const std::string camera = small_camera(folder.path()), source = simulated(three_balls(folder.path()), 50000);
  REQUIRE(
      run_it(reconstruction(camera, source, "use: view_subsets, subsets: 4, iterations: 2"), folder.path()).exit_code ==
      0);
  const std::vector<float> offline = voxels_of(images().back());

  const std::string live = "use: live_views, subsets: 4, least_views: 2, iterations: 2, final: offline";
  const auto turning = [&](const std::string& subsets) {
    std::string pipeline = reconstruction(camera, source, subsets);
    pipeline.replace(pipeline.find("from: feed"), 10, "from: gantry");
    return pipeline + "  gantry: {use: test_gantry, from: feed}\n";
  };
  const RunReport report = run_it(turning(live), live_folder.path());
  REQUIRE(report.exit_code == 0);
  CHECK(report.books.balanced());
  CHECK(report.books.reconstructed > 0);
  CHECK(images().size() > 8);  // live ones, then two passes of four groups
  const auto as_seen = images();
  CHECK(voxels_of(as_seen.back()) == offline);

  const std::string again = live + ", follow: " + (live_folder.path() / "order.jsonl").string();
  REQUIRE(run_it(turning(again), followed.path()).exit_code == 0);
  REQUIRE(images().size() == as_seen.size());
  for (std::size_t i = 0; i < as_seen.size(); ++i) CHECK(voxels_of(images()[i]) == voxels_of(as_seen[i]));
}

TEST_CASE("views on the way to a list-mode projector, and events to one of views, are refused before data flow") {
  const TemporaryFolder folder;
  const std::string camera = small_camera(folder.path());
  std::string wrong = reconstruction(camera, simulated("uniform_cylinder"), "use: subset_builder, subsets: 2");
  CHECK_THROWS_WITH_AS(parse_pipeline(wrong, "test.yaml"), doctest::Contains("views"), ConfigErrors);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
