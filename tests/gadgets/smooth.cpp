// The post-filter: its width and its sum, what passes it untouched, and what a written image says of it.
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/testing.hpp"
#include "gadgets/io/nifti/nifti.hpp"
#include "gadgets/io/nifti/nifti_quantity.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/watch/fake_run.hpp"

using namespace tofstream;

namespace {

constexpr int n = 81;
constexpr float voxel_mm = 0.5f;

// One voxel of 1000 in the middle.
std::shared_ptr<const Estimate> point(int iteration, bool last = false) {
  auto image = std::make_shared<Image>(Image::zeros(Grid::centred(n, n, n, {voxel_mm, voxel_mm, voxel_mm})));
  image->voxels[image->grid.index(n / 2, n / 2, n / 2)] = 1000;
  return std::make_shared<const Estimate>(
      Estimate{.step = {.iteration = iteration, .ends_iteration = last, .last = last}, .image = image});
}

double sum_of(const Image& image) {
  double sum = 0;
  for (const float v : image.voxels.span()) sum += static_cast<double>(v);
  return sum;
}

// Full width at half maximum of the profile through the middle, in mm, by linear interpolation.
double fwhm_along(const Image& image, int axis) {
  const auto at = [&](int i) {
    int where[3] = {n / 2, n / 2, n / 2};
    where[axis] = i;
    return static_cast<double>(image.voxels[image.grid.index(where[0], where[1], where[2])]);
  };
  const double half = 0.5 * at(n / 2);
  int i = n / 2;
  while (at(i + 1) > half) ++i;
  const double beyond = (at(i) - half) / (at(i) - at(i + 1));
  return 2 * (i - n / 2 + beyond) * static_cast<double>(voxel_mm);
}

// Second moment about the middle, in mm^2.
double variance_along(const Image& image, int axis) {
  double sum = 0;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const double from_middle = static_cast<double>(image.grid.centre(i, j, k)[axis]);
        sum += static_cast<double>(image.voxels[image.grid.index(i, j, k)]) * from_middle * from_middle;
      }
  return sum / sum_of(image);
}

}  // namespace

TEST_CASE("smooth makes a point as wide as asked for, along each axis, and keeps its sum") {
  RegisteredGadgetTest<Estimate> smooth("smooth", "{post_filter_mm: [5, 6, 8]}");
  smooth.send(point(1));
  REQUIRE(smooth.out.size() == 1);
  const Image& image = *smooth.out[0].image;
  const double widths[3] = {5, 6, 8};
  for (int axis = 0; axis < 3; ++axis) CHECK(fwhm_along(image, axis) == approx(widths[axis]).epsilon(0.02));
  for (int axis = 0; axis < 3; ++axis)  // of a Gaussian: FWHM^2 / (8 ln 2)
    CHECK(variance_along(image, axis) == approx(widths[axis] * widths[axis] / (8 * std::log(2.0))).epsilon(0.002));
  CHECK(sum_of(image) == approx(1000).epsilon(1e-4));
  // The peak of a Gaussian in three dimensions, of voxels that are small beside it.
  double peak = 1000;
  for (const double width : widths) peak *= 2 * std::sqrt(std::log(2.0) / M_PI) * static_cast<double>(voxel_mm) / width;
  CHECK(static_cast<double>(image.voxels[image.grid.index(n / 2, n / 2, n / 2)]) == approx(peak).epsilon(0.03));
  CHECK(smooth.out[0].filters == PostFilters{{{5, 6, 8}}});
  CHECK(words_of(smooth.out[0].filters) == "smoothed by 5 x 6 x 8 mm FWHM");
}

TEST_CASE("smooth passes everything on as it is by default") {
  RegisteredGadgetTest<Estimate> smooth("smooth");
  const auto before = point(1);
  smooth.send(before);
  CHECK(smooth.out[0].image == before->image);
  CHECK(smooth.out[0].host_copy == before->host_copy);
  CHECK(smooth.out[0].filters.empty());
  CHECK_FALSE(smooth.context.figures().contains("filtered"));
}

TEST_CASE("smooth spares the estimates between iterations, or all but the final one, if told so") {
  for (const auto& choice : {std::pair{"update", 4}, {"iteration", 3}, {"final", 2}}) {
    const auto& [every, count] = choice;
    CAPTURE(choice.first);
    RegisteredGadgetTest<Estimate> smooth("smooth", fmt::format("{{post_filter_mm: 4, every: {}}}", every));
    smooth.send(point(0));  // the start image
    smooth.send(point(1, true));
    smooth.send(point(2));
    smooth.send(point(2));
    smooth.finish();
    // With `iteration`, the last one is passed on at the end, since no iteration ended with it.
    CHECK(smooth.out.size() == static_cast<std::size_t>(count));
  }
}

TEST_CASE(
    "a smoothed image says so in its description, its provenance and its figures, and one smoothed twice says both") {
  const TemporaryFolder folder;
  RegisteredGadgetTest<Estimate> once("smooth", "{post_filter_mm: 5}"), twice("smooth", "{post_filter_mm: 2.5}");
  once.send(point(1, true));
  twice.send(once.out[0]);
  const std::string words = "smoothed by 5 mm FWHM, smoothed by 2.5 mm FWHM";
  CHECK(words_of(twice.out[0].filters) == words);
  CHECK(common_fwhm_mm(twice.out[0].filters) == approx(std::hypot(5, 2.5)));
  CHECK(std::get<std::string>(twice.context.figures().at("filtered")) == words);
  test::FakeRun run;
  RegisteredGadgetTest<void> writer("nifti_writer", "{file: image.nii}", folder.path(), &run);
  writer.send(twice.out[0]);
  writer.finish();
  CHECK(text_of(folder / "image.nii").substr(148, 80).find("tofstream, iteration 1, " + words) == 0);
  CHECK(nlohmann::json::parse(read_nifti_comment(folder / "image.nii"))["filtered"] == words);
  CHECK(read_nifti_filter(folder / "image.nii") == words);
}
// SPDX-License-Identifier: Apache-2.0
