// Whole reconstructions from histo-images, beside list mode of the same events.
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/gadgets/direct/direct_runs.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {

namespace direct_test {
std::shared_ptr<const Estimate>& last_image() {
  static std::shared_ptr<const Estimate> last;
  return last;
}
std::atomic<std::int64_t>& updates_seen() {
  static std::atomic<std::int64_t> updates;
  return updates;
}
}  // namespace direct_test

namespace {

using namespace direct_test;

struct KeepLastImage {
  void process(std::shared_ptr<const Estimate> estimate) {
    last_image() = std::move(estimate);
    updates_seen() = last_image()->step.update;
  }
};
TOFSTREAM_GADGET(KeepLastImage, "test_keep_last_image", "Keeps the newest image");

double mean_where(const Image& image, const std::function<bool(Vec3)>& is_in) {
  double sum = 0;
  int voxels = 0;
  for (int k = 0; k < image.grid.size[2]; ++k)
    for (int j = 0; j < image.grid.size[1]; ++j)
      for (int i = 0; i < image.grid.size[0]; ++i)
        if (is_in(image.grid.centre(i, j, k))) {
          sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]);
          ++voxels;
        }
  return sum / voxels;
}

// Planes that the ring sees well, away from the water's border.
bool is_inside(Vec3 at, float radius_mm) {
  return std::hypot(at.x, at.y) < radius_mm && std::abs(at.z) < 16;
}

}  // namespace

TEST_CASE("DIRECT: a uniform cylinder with attenuation comes out with its activity, by each operator") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false)};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.events = 600'000;
  struct Case {
    const char *deposit, *projector;
  };
  for (const Case& each :
       {Case{"", "lor_fwhm_mm: 7.5"}, Case{", lattice: image", "lor_fwhm_mm: 7.5, operator: one_stage"},
        Case{", lattice: image", "lor_fwhm_mm: 7.5, operator: fft"}}) {
    with.deposit = each.deposit;
    with.projector = each.projector;
    CAPTURE(each.projector);
    const RunReport report = run_pipeline(with.direct(), folder.path());
    REQUIRE(report.exit_code == 0);
    CHECK(report.books.balanced());
    REQUIRE(last_image());
    REQUIRE(last_image()->quantity);
    CHECK(label_of(*last_image()->quantity) == "Bq/mL");
    const double mean = mean_where(*last_image()->image, [](Vec3 at) { return is_inside(at, 60); });
    CHECK(mean == approx(water_Bq_mL).epsilon(0.01));
  }
}

TEST_CASE("DIRECT and list mode make the same image of the same events") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), true)};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.subsets = "subsets: 1, iterations: 30";  // subsets leave half a percent in such an image, by their order
  REQUIRE(run_pipeline(with.direct(), folder.path()).exit_code == 0);
  const Image direct = last_image()->image->to(Memory::host);
  REQUIRE(run_pipeline(with.list_mode(), folder.path()).exit_code == 0);
  const Image list_mode = last_image()->image->to(Memory::host);
  const auto compare = [&](const char* what, double epsilon, const std::function<bool(Vec3)>& is_in) {
    CAPTURE(what);
    const double a = mean_where(direct, is_in), b = mean_where(list_mode, is_in);
    CHECK(a == approx(b).epsilon(epsilon));
  };
  compare("all of the water", 0.01, [](Vec3 at) { return is_inside(at, 70); });
  // The histo-images' kernel is a model of the blur, and Joseph's lines have none; the noise of a block is some percent.
  compare("sphere", 0.12, [](Vec3 at) { return norm(at - Vec3{36, 12, 3}) < 9; });
  for (const float x : {-40.0f, 0.0f, 40.0f})
    for (const float y : {-40.0f, 40.0f})
      compare("a block", 0.1,
              [&](Vec3 at) { return std::abs(at.x - x) < 15 && std::abs(at.y - y) < 15 && std::abs(at.z) < 16; });
}

TEST_CASE("one subset of histo-images is EM: its likelihood never falls, and a run again gives the same bits") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), true)};
  with.events = 60'000;
  with.source = ", attenuation: false";
  with.projector += ", log_likelihood: true";
  with.subsets = "subsets: 1, iterations: 4";
  const RunReport report = run_pipeline(with.direct(), folder.path());
  REQUIRE(report.exit_code == 0);
  const auto projected = std::ranges::find(report.gadgets, "projected", &GadgetReport::name);
  const auto likelihood = std::get<std::vector<double>>(projected->figures.at("log_likelihood"));
  REQUIRE(likelihood.size() == 4);
  for (std::size_t i = 1; i < likelihood.size(); ++i) CHECK(likelihood[i] >= likelihood[i - 1]);
  const std::vector<float> first = last_image()->image->voxels.to_vector();
  REQUIRE(run_pipeline(with.direct(), folder.path()).exit_code == 0);
  CHECK(last_image()->image->voxels.to_vector() == first);
}

TEST_CASE("block RAMLA, a view a block, keeps every voxel positive and finds the activity") {
  const TemporaryFolder folder;
  DirectPipeline with{.ring = small_ring(folder.path()), .phantom = water(folder.path(), false)};
  with.mu_map = mu_map_of(with.phantom, folder.path());
  with.subsets = "subsets: 72, iterations: 5";
  with.update = "use: ramla_update, relaxation: 1, decay: 0.5";
  REQUIRE(run_pipeline(with.direct(), folder.path()).exit_code == 0);
  for (const float value : last_image()->image->voxels.span()) CHECK(value >= 0);
  const double mean = mean_where(*last_image()->image, [](Vec3 at) { return is_inside(at, 60); });
  CHECK(mean == approx(water_Bq_mL).epsilon(0.01));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
