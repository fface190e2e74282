// Pictures of kernels as figs. 5 to 7 of Ha et al. 2013 show them: three equal points, forward and back. Kept in
// share/doc/images/direct_kernels.png: TOFSTREAM_PICTURES=share/doc/images draws it there.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "gadgets/io/picture/image_view.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/math/units.hpp"
#include "tests/gadgets/direct/direct_runs.hpp"

namespace tofstream {
namespace {

// 576 mm across; at 30 degrees, where the second point lies in the middle and the others 150 mm to either side of it.
const Grid picture_grid = Grid::centred(144, 144, 9, {4, 4, 4});
constexpr int picture_points[3][2] = {{90, 40}, {72, 72}, {54, 104}};

struct KernelPicture {
  const char* name;
  DirectKernel kernel;
  DirectOperator method = DirectOperator::one_stage;
  bool is_back = false;
  FftEnds ends = FftEnds::padded;
  FftSpectrum spectrum = FftSpectrum::sampled;
  int aside = 0;  // voxels by which the points lie nearer to the image's end
};

DirectKernel picture_kernel(double tof_ps, std::vector<RadialWidth> radial, bool is_symmetric) {
  DirectKernel kernel{.tof_sigma_mm = static_cast<float>(0.5 * speed_of_light_mm_ps * tof_ps / fwhm_per_sigma),
                      .radial = std::move(radial),
                      .axial_fwhm_mm = 10};
  // The paper does not say how far the wider one is moved: by a sigma of the narrow one.
  if (!is_symmetric) kernel.parts = {{1, 1, 0}, {1, 2, 1}};
  return kernel;
}

/// The middle slice of K x, or of K^T y, for three points.
std::vector<float> middle_slice(const KernelPicture& picture) {
  ViewSet set = direct_view_set(picture_grid, {.azimuths = 1, .tilts = 1}, HistoLattice::image);
  set.places[0].angle_deg = 30;
  set.places[0].tilt_deg = 0;
  const DirectSettings settings{.kernel = picture.kernel,
                                .method = picture.method,
                                .lattice = HistoLattice::image,
                                .fft_ends = picture.ends,
                                .fft_spectrum = picture.spectrum};
  const auto projector = make_direct_projector(picture_grid, set, settings, Backend::cpu);
  ViewBatch batch{.count = set.pixels(), .set = std::make_shared<const ViewSet>(set)};
  batch.records = {{.view = 0}};
  batch.weigh(1);
  std::vector<float> points(static_cast<std::size_t>(picture_grid.voxels())), result(points.size());
  for (const auto& [i, j] : picture_points)
    points[static_cast<std::size_t>(picture_grid.index(i + picture.aside, j, 4))] = 1;
  if (picture.is_back)
    projector->back(batch.view(), points.data(), result.data());
  else
    projector->forward(batch.view(), points.data(), result.data());
  const auto* slice = result.data() + picture_grid.index(0, 0, 4);
  return {slice, slice + std::ptrdiff_t{picture_grid.size[0]} * picture_grid.size[1]};
}

/// Slices side by side, two rows of three, each the square root of its values over its maximum, so that faint ones show.
Image tiled(const std::vector<std::vector<float>>& slices) {
  const int side = picture_grid.size[0];
  Image image = Image::zeros(Grid::centred(3 * side, 2 * side, 1, {4, 4, 4}));
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const float most = *std::ranges::max_element(slices[s]);
    const int left = static_cast<int>(s % 3) * side, top = static_cast<int>(s / 3) * side;
    for (int j = 0; j < side; ++j)
      for (int i = 0; i < side; ++i)
        image.voxels[image.grid.index(left + i, top + j, 0)] =
            std::sqrt(std::max(slices[s][static_cast<std::size_t>(i + j * side)] / most, 0.0f));
  }
  return image;
}

}  // namespace

TEST_CASE("three points by the papers' kernels, forward and back, make a picture") {
  const DirectKernel plain = picture_kernel(900, {{0, 50}}, true),
                     variant = picture_kernel(900, {{0, 10}, {288, 100}}, true),
                     asymmetric = picture_kernel(600, {{0, 10}, {288, 80}}, false);
  const std::vector<KernelPicture> pictures = {{.name = "invariant", .kernel = plain},
                                               {.name = "variant, forward", .kernel = variant},
                                               {.name = "asymmetric, forward", .kernel = asymmetric},
                                               {.name = "invariant, as published by FFT",
                                                .kernel = plain,
                                                .method = DirectOperator::fft,
                                                .ends = FftEnds::periodic,
                                                .spectrum = FftSpectrum::analytic,
                                                .aside = 45},
                                               {.name = "variant, back", .kernel = variant, .is_back = true},
                                               {.name = "asymmetric, back", .kernel = asymmetric, .is_back = true}};
  std::vector<std::vector<float>> slices;
  for (const KernelPicture& picture : pictures) {
    CAPTURE(picture.name);
    slices.push_back(middle_slice(picture));
    double sum = 0;
    for (const float value : slices.back()) sum += static_cast<double>(value);
    CHECK(sum > 0);
  }
  const TemporaryFolder folder;
  const char* kept = std::getenv("TOFSTREAM_PICTURES");
  const auto file = (kept ? std::filesystem::path(kept) : folder.path()) / "direct_kernels.png";
  write_view_png(
      file, tiled(slices),
      {.title = "Three points at 30 degrees, square root: invariant, variant, asymmetric", .low = 0, .high = 1});
  CHECK(std::filesystem::file_size(file) > 10000);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
