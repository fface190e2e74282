// What reconstructions of views must give: an activity in Bq/mL whatever the voxels, MLEM bit for bit with one subset,
// counts that are kept by uneven subsets, and voxels that stay where a subset does not see them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stop_token>

#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/spect/io/camera_yaml.hpp"
#include "gadgets/subset/pass_order.hpp"
#include "gadgets/subset/view_groups.hpp"
#include "kernels/analysis/inner_product.hpp"
#include "kernels/analysis/roi.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/spect/spect.hpp"
#include "kernels/types/join_views.hpp"
#include "tests/gadgets/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

namespace tofstream {
namespace {

using namespace spect_test;

std::vector<std::shared_ptr<const ViewBatch>>& kept_views() {
  static std::vector<std::shared_ptr<const ViewBatch>> all;
  return all;
}

struct KeepViews {
  void process(std::shared_ptr<const ViewBatch> views) { kept_views().push_back(std::move(views)); }
};
TOFSTREAM_GADGET(KeepViews, "test_keep_views", "Keeps the views that come");

// A camera at eight sides, whose odd views look at the lower half of the image and even ones at the upper half.
std::shared_ptr<const ViewSet> two_heights() {
  ViewSet set;
  set.size[0] = 16;
  set.size[1] = 8;
  set.pixel_mm = {8, 8, 8};
  for (int v = 0; v < 8; ++v)
    set.places.push_back({.angle_deg = 45.0f * static_cast<float>(v),
                          .radius_mm = 150,
                          .centre_w_mm = v % 2 == 0 ? 32.0f : -32.0f,
                          .start_s = static_cast<double>(v),
                          .duration_s = 1});
  return std::make_shared<const ViewSet>(std::move(set));
}

struct TwoHeights {
  static constexpr bool own_thread = true;
  void run(Emit<ViewBatch>& emit, std::stop_token) {
    const auto set = two_heights();
    for (int v = 0; v < 8; ++v) {
      ViewBatch view{.count = set->pixels(), .set = set};
      view.counts = Buffer<float>(Memory::host, view.count);
      std::ranges::fill(view.counts.span(), 3.0f);
      view.records.push_back({.view = v, .counts = static_cast<std::uint64_t>(3 * view.count)});
      emit(std::move(view));
    }
  }
};
TOFSTREAM_GADGET(TwoHeights, "test_two_heights", "Views of which each sees half of the image");

/// A cylinder of water, its map, and a scan of it in a file.
struct WaterScan {
  static constexpr double activity_Bq_mL = 20000, radius_mm = 80;
  explicit WaterScan(const std::filesystem::path& folder, double counts)
      : camera((folder / "camera.yaml").string()),
        mu_map((folder / "mu.nii.gz").string()),
        file((folder / "scan.hs").string()) {
    std::ofstream(camera)
        << "name: water\ncamera:\n  pixels: [48, 36]\n  pixel_mm: 6\n  heads_deg: [0, 180]\n  views: 30\n"
           "  rotation_deg: 180\n  seconds: 10\n  radius_mm: 130\n  intrinsic_fwhm_mm: 3.8\n  cps_per_MBq: 100\n"
           "  collimator: {slope: 0.02, sigma0_mm: 1.5}\n";
    const auto phantom = folder / "water.yaml";
    std::ofstream(phantom) << fmt::format(
        "name: water\nsolids:\n  - {{shape: cylinder, radius_mm: {}, length_mm: 150, activity_Bq_mL: {}, "
        "mu_per_cm: 0.154}}\n",
        radius_mm, activity_Bq_mL);
    write_nifti(mu_map, formats::read_phantom(phantom).phantom.mu_image(Grid::centred(60, 60, 60, {4, 4, 4})));
    const RunReport report =
        run_it(fmt::format("scanner: {}\ngadgets:\n  photons: {{use: spect_simulator, phantom: {}, events: {}}}\n"
                           "  file: {{use: projections_writer, from: photons, file: scan.hs}}\n",
                           camera, phantom.string(), counts),
               folder);
    REQUIRE(report.exit_code == 0);
  }

  std::string camera, mu_map, file;
};

double counts_of(const ViewBatch& batch) {
  double sum = 0;
  for (const float counts : batch.counts.span()) sum += static_cast<double>(counts);
  return sum;
}

/// MLEM as the equation has it, without the gadgets: x <- x / s A^T(w y / (w A x)) from ones.
std::vector<std::vector<float>> mlem_of(ViewProjector& projector, const ViewBatch& batch, int updates) {
  const auto voxels = static_cast<std::size_t>(projector.grid().voxels());
  std::vector<float> sensitivity(voxels, 0.0f), image(voxels, 1.0f);
  projector.add_sensitivity(batch.view(), sensitivity.data());
  std::vector<std::vector<float>> images;
  for (int n = 0; n < updates; ++n) {
    std::vector<float> sum(voxels, 0.0f);
    projector.em_step(batch.view(), image.data(), sum.data());
    for (std::size_t v = 0; v < voxels; ++v)
      image[v] = sensitivity[v] > 0 ? image[v] * (1 / sensitivity[v]) * sum[v] : 0.0f;
    images.push_back(image);
  }
  return images;
}

/// 180 views whose counts no image explains, of unequal times.
struct UnevenScan {
  std::shared_ptr<const ViewSet> set = circle();
  std::unique_ptr<ViewProjector> projector = make_rotation_projector(
      Grid::centred(14, 14, 5, {6, 6, 6}), *set,
      {.psf = GaussianPsfModel{.slope = 0.03f, .sigma0_mm = 2}, .form = PsfForm::separable}, Backend::cpu);

  static std::shared_ptr<const ViewSet> circle() {
    ViewSet made;
    made.size[0] = 16;
    made.size[1] = 6;
    made.pixel_mm = {6, 6, 6};
    for (int v = 0; v < 180; ++v)
      made.places.push_back({.angle_deg = 2.0f * static_cast<float>(v), .radius_mm = 100, .duration_s = 1.0 + v % 3});
    return std::make_shared<const ViewSet>(std::move(made));
  }

  ViewBatch views(const std::vector<int>& numbers) const {
    ViewBatch batch{.count = set->pixels() * static_cast<std::int64_t>(numbers.size()), .set = set};
    batch.counts = Buffer<float>(Memory::host, batch.count);
    for (std::size_t r = 0; r < numbers.size(); ++r) {
      batch.records.push_back({.view = numbers[r]});
      for (std::int64_t i = 0; i < set->pixels(); ++i)
        batch.counts[static_cast<std::int64_t>(r) * set->pixels() + i] = static_cast<float>((i * 7 + numbers[r]) % 11);
    }
    batch.weigh(1);
    return batch;
  }

  Image sensitivity(const ViewBatch& of) const {
    Image sum = Image::zeros(projector->grid());
    projector->add_sensitivity(of.view(), sum.voxels.data());
    return sum;
  }

  /// Gives the sum of counts x log of their expectation, before the update.
  double update(Image& image, const ViewBatch& with, const Image& sensitivity) const {
    Image back = Image::zeros(projector->grid());
    const EmTally tally = projector->em_step(with.view(), image.voxels.data(), back.voxels.data());
    em_update(image, inverse_sensitivity(sensitivity, 0), back, 1);
    return tally.log_sum;
  }
};

ViewBatch joined_scan(const std::vector<std::shared_ptr<const ViewBatch>>& views) {
  std::vector<ViewBatch> weighted;
  for (const auto& view : views) {
    weighted.push_back(view->to(Memory::host));
    weighted.back().weigh(1);
  }
  std::vector<const ViewBatch*> all;
  for (const ViewBatch& view : weighted) all.push_back(&view);
  return join_views(all, Memory::host);
}

}  // namespace

TEST_CASE("a cylinder of water is reconstructed within 2 % of its Bq/mL, whatever the size of voxels") {
  const TemporaryFolder folder;
  const WaterScan scan(folder.path(), 3e6);
  for (const std::string image : {"auto", "{voxel_mm: 4}", "{voxel_mm: 9}"}) {
    const TemporaryFolder out;
    CAPTURE(image);
    const std::string pipeline = fmt::format(
        "backend: cpu\nimage: {}\nscanner: {}\nmu_map: {}\ngadgets:\n"
        "  feed: {{use: projections_source, path: {}}}\n"
        "  subsets: {{use: view_subsets, subsets: 6, iterations: 10, from: feed}}\n"
        "  projected: {{use: rotation_projector, from: {{views: subsets, image: estimate}}}}\n"
        "  estimate: {{use: osem_update, from: projected}}\n"
        "  kept: {{use: test_keep_images, from: estimate}}\n",
        image, scan.camera, scan.mu_map, scan.file);
    REQUIRE(run_it(pipeline, out.path()).exit_code == 0);
    const Estimate& last = *images().back();
    REQUIRE(last.quantity);
    CHECK(label_of(*last.quantity).starts_with("Bq/mL"));
    CHECK(statistics(*last.image, Cylinder{{0, 0, 0}, 50, 60}).mean == approx(WaterScan::activity_Bq_mL).epsilon(0.02));
    CHECK(statistics(*last.image, Cylinder{{0, 0, 0}, 25, 60}).mean == approx(WaterScan::activity_Bq_mL).epsilon(0.02));
  }
}

TEST_CASE("one subset of views is MLEM bit for bit") {
  const TemporaryFolder folder;
  const auto phantom = folder / "ball.yaml";
  std::ofstream(phantom) << "name: ball\nsolids:\n  - {shape: sphere, centre_mm: [30, -20, 10], diameter_mm: 60, "
                            "activity_Bq_mL: 10000}\n";
  const std::string camera = small_camera(folder.path());
  kept_views().clear();
  const std::string pipeline =
      reconstruction(camera, fmt::format("use: spect_simulator, phantom: {}, events: 50000", phantom.string()),
                     "use: view_subsets, subsets: 1, iterations: 4") +
      "  seen: {use: test_keep_views, from: feed}\n";
  REQUIRE(run_it(pipeline, folder.path()).exit_code == 0);
  REQUIRE(images().size() == 4);
  REQUIRE(kept_views().size() == 24);

  const formats::Camera read = formats::read_camera(camera);
  const SpectSettings settings{
      .psf = read.psf, .form = PsfForm::separable, .counts_per_decay = static_cast<float>(*read.cps_per_MBq / 1e6)};
  const auto projector = make_rotation_projector(images().front()->image->grid, *read.views, settings, Backend::cpu);
  const auto expected = mlem_of(*projector, joined_scan(kept_views()), 4);
  for (std::size_t n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    CHECK(voxels_of(images()[n]) == expected[n]);
  }
}

TEST_CASE(
    "180 views in eight subsets: each update keeps the counts that it is made with, and MLEM's likelihood rises") {
  const UnevenScan scan;
  const std::vector<int> groups = view_groups(*scan.set, 8);
  Image image = Image::filled(scan.projector->grid(), 1), sum_of_parts = Image::zeros(scan.projector->grid());
  int of_23 = 0;
  for (const int group : farthest_apart(8)) {
    std::vector<int> numbers;
    for (int v = 0; v < 180; ++v)
      if (groups[static_cast<std::size_t>(v)] == group) numbers.push_back(v);
    of_23 += numbers.size() == 23 ? 1 : 0;
    const ViewBatch subset = scan.views(numbers);
    const Image sensitivity = scan.sensitivity(subset);
    scan.projector->add_sensitivity(subset.view(), sum_of_parts.voxels.data());
    scan.update(image, subset, sensitivity);
    CHECK(inner_product(sensitivity, image) == approx(counts_of(subset)).epsilon(1e-5));
  }
  CHECK(of_23 == 4);

  std::vector<int> all(180);
  std::iota(all.begin(), all.end(), 0);
  const ViewBatch whole = scan.views(all);
  const Image sensitivity = scan.sensitivity(whole);
  for (std::int64_t v = 0; v < sensitivity.voxels.size(); ++v)
    CHECK(sum_of_parts.voxels[v] == approx(sensitivity.voxels[v]).epsilon(1e-5));
  double before = -INFINITY;
  for (int n = 0; n < 6; ++n) {
    const double expected = inner_product(sensitivity, image);
    const double likelihood = scan.update(image, whole, sensitivity) - expected;
    CHECK(likelihood > before);
    before = likelihood;
    CHECK(inner_product(sensitivity, image) == approx(counts_of(whole)).epsilon(1e-5));
  }
}

TEST_CASE("a voxel that no view of a subset sees stays as it is, bit for bit") {
  const TemporaryFolder folder;
  REQUIRE(run_it(reconstruction("\"\"", "use: test_two_heights", "use: view_subsets, subsets: 2, iterations: 1"),
                 folder.path())
              .exit_code == 0);
  REQUIRE(images().size() == 2);
  const Image &first = *images()[0]->image, &second = *images()[1]->image;
  int lower = 0, upper = 0;
  for (int k = 0; k < first.grid.size[2]; ++k) {
    const float z = first.grid.centre(0, 0, k).z;
    const std::int64_t v = first.grid.index(first.grid.size[0] / 2, first.grid.size[1] / 2, k);
    if (z < -8) {
      ++lower;
      CHECK(first.voxels[v] == 1);
      CHECK(second.voxels[v] != 1);
    } else if (z > 8) {
      ++upper;
      CHECK(first.voxels[v] != 1);
      CHECK(second.voxels[v] == first.voxels[v]);
    }
  }
  CHECK(lower > 4);
  CHECK(upper == lower);
}

TEST_CASE("views of which only some state their time are refused by what groups them") {
  ViewSet set = *two_heights();
  set.places[3].duration_s = 0;
  const auto shared = std::make_shared<const ViewSet>(std::move(set));
  ViewBatch view{.count = shared->pixels(), .set = shared};
  view.counts = Buffer<float>(Memory::host, view.count);
  std::ranges::fill(view.counts.span(), 1.0f);
  view.records.push_back({.view = 0, .counts = static_cast<std::uint64_t>(view.count)});
  const TemporaryFolder folder;
  for (const char* gadget : {"view_subsets", "live_views"}) {
    CAPTURE(gadget);
    RegisteredGadgetTest<ViewSubset> test(gadget, "{subsets: 2, backend: cpu}", folder.path());
    CHECK_THROWS_WITH_AS(test.send(view.to(Memory::host)),
                         "only 7 of 8 views state how long they took, so nobody knows how much the others weigh: state "
                         "the time of all or of none",
                         std::runtime_error);
  }
}

TEST_CASE("a view that comes again counts as more time, which is said; one in pieces does not") {
  const auto set = two_heights();
  ViewBatch view{.count = set->pixels(), .set = set};
  view.counts = Buffer<float>(Memory::host, view.count);
  std::ranges::fill(view.counts.span(), 1.0f);
  const TemporaryFolder folder;
  for (const double exposure : {0.5, 1.0}) {
    view.records = {{.view = 2, .exposure = exposure, .counts = static_cast<std::uint64_t>(view.count)}};
    RegisteredGadgetTest<ViewSubset> test("view_subsets", "{subsets: 2, backend: cpu}", folder.path());
    for (int piece = 0; piece < 2; ++piece) test.send(view.to(Memory::host));
    CHECK(test.context.figures().contains("view_again") == (exposure == 1.0));
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
