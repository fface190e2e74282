// Operators against the uncut reference: projections of points, their moments, and what the cut of a kernel costs.
#include "kernels/direct/kernel_tables.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// The middle voxel, or 26 ones about it.
std::vector<std::array<int, 3>> direct_points(const Grid& grid, bool is_middle) {
  std::vector<std::array<int, 3>> points;
  for (int k = -1; k <= 1; ++k)
    for (int j = -1; j <= 1; ++j)
      for (int i = -1; i <= 1; ++i)
        if ((i == 0 && j == 0 && k == 0) == is_middle)
          points.push_back({grid.size[0] / 2 + 11 * i, grid.size[1] / 2 + 12 * j, grid.size[2] / 2 + 4 * k});
  return points;
}

struct DirectErrors {
  double largest = 0, rms = 0;  // of the reference's maximum
};
DirectErrors direct_errors(const DirectCase& here, const ViewBatch& batch, const std::vector<float>& image) {
  const auto exact = here.reference().forward(batch.view(), wide(image));
  const auto values = direct_forward(*here.projector(), batch, image);
  DirectErrors errors;
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(static_cast<double>(values[i]) - exact[i]);
    errors.largest = std::max(errors.largest, error);
    squares += error * error;
  }
  const double most = *std::ranges::max_element(exact);
  return {errors.largest / most, std::sqrt(squares / static_cast<double>(exact.size())) / most};
}

/// All views, or some of each tilt.
std::vector<int> direct_view_numbers(const DirectViews& views, int step) {
  std::vector<int> numbers;
  for (int v = 0; v < views.count(); v += step) numbers.push_back(v);
  return numbers;
}

const Grid direct_points_grid = Grid::centred(36, 37, 15, {4, 4, 4});

void check_direct_points(DirectOperator method, HistoLattice lattice, bool is_middle, int step) {
  for (const float radial_mm : {4.8f, 5.8f, 12.0f}) {
    DirectKernel kernel = plain_kernel(tof_sigma_of_ps(375));
    kernel.radial = {{0, radial_mm}};
    const DirectCase here(direct_points_grid, {}, kernel, method, lattice);
    const DirectErrors errors = direct_errors(here, view_batch(here.set, direct_view_numbers(here.views, step)),
                                              points_image(here.grid, direct_points(here.grid, is_middle)));
    CAPTURE(radial_mm);
    CHECK(errors.largest < 0.005);
    CHECK(errors.rms < 0.001);
  }
}

}  // namespace

TEST_CASE("Two stages differ from the uncut direct kernel of a point by at most 0.5 % of the maximum in all views") {
  check_direct_points(DirectOperator::two_stage, HistoLattice::view, true, 1);
}
TEST_CASE("Two stages differ from the uncut direct kernels of 26 points by at most 0.5 % of the maximum") {
  check_direct_points(DirectOperator::two_stage, HistoLattice::view, false, 7);
}
TEST_CASE("Two stages on the image's lattice differ from the uncut direct kernel of a point by at most 0.5 %") {
  check_direct_points(DirectOperator::two_stage, HistoLattice::image, true, 3);
}
TEST_CASE("Two stages on the image's lattice differ from the uncut direct kernels of 26 points by at most 0.5 %") {
  check_direct_points(DirectOperator::two_stage, HistoLattice::image, false, 11);
}
TEST_CASE("One stage differs from the uncut direct kernel of a point by at most 0.5 % of the maximum in all views") {
  check_direct_points(DirectOperator::one_stage, HistoLattice::image, true, 1);
}
TEST_CASE("One stage differs from the uncut direct kernels of 26 points by at most 0.5 % of the maximum") {
  check_direct_points(DirectOperator::one_stage, HistoLattice::image, false, 7);
}

TEST_CASE("Two stages hold for variant and asymmetric direct kernels, wide axial ones and steep views too") {
  for (const NamedKernel& one : direct_kernels(tof_sigma_of_ps(375)))
    for (const float acceptance : {10.0f, 40.0f}) {
      CAPTURE(one.name);
      CAPTURE(acceptance);
      DirectKernel kernel = one.kernel;
      kernel.axial_fwhm_mm = 10;
      Grid grid = direct_points_grid;  // off the axis: identifiers count from there
      grid.origin_mm = grid.origin_mm + Vec3{17, -9, 25};
      const DirectCase here(grid, {.azimuths = 7, .tilts = 3, .acceptance_deg = acceptance}, kernel,
                            DirectOperator::two_stage, HistoLattice::view);
      const DirectErrors errors = direct_errors(here, view_batch(here.set, {1, 4, 8, 20}),
                                                points_image(here.grid, {{18, 18, 7}, {9, 25, 4}, {27, 11, 10}}));
      CHECK(errors.largest < 0.005);
      CHECK(errors.rms < 0.001);
    }
}

TEST_CASE("Two stages take axial direct kernels of 1.2 voxels in tilted views, and refuse narrower ones") {
  for (const float acceptance : {10.0f, 40.0f})
    for (const float ps : {200.0f, 375.0f}) {
      CAPTURE(acceptance);
      CAPTURE(ps);
      DirectKernel kernel = plain_kernel(tof_sigma_of_ps(ps));
      kernel.axial_fwhm_mm = 4.8f;
      DirectCase here(direct_points_grid, {.azimuths = 7, .tilts = 3, .acceptance_deg = acceptance}, kernel,
                      DirectOperator::two_stage, HistoLattice::view);
      const DirectErrors errors = direct_errors(here, view_batch(here.set, {1, 4, 8, 20}),
                                                points_image(here.grid, {{18, 18, 7}, {9, 25, 4}, {27, 11, 10}}));
      CHECK(errors.largest < (acceptance > 20 ? 0.015 : 0.002));  // tilts of 27 degrees: the worst that they take
      CHECK(errors.rms < 0.001);
      here.settings.kernel.axial_fwhm_mm = 4.7f;
      CHECK_THROWS_WITH_AS(here.projector(),
                           "in tilted views kernel.axial_fwhm_mm of 4.7 mm FWHM is narrower than two_stage can sample "
                           "(1.2 voxels, 4.8 mm): take operator one_stage",
                           std::invalid_argument);
    }
}

TEST_CASE("At a cut of 3 sigma, as published, direct operators are worse") {
  DirectKernel kernel = plain_kernel(tof_sigma_of_ps(375));
  kernel.cut_sigma = 3;
  for (const DirectMethod& method : direct_methods(kernel)) {
    const DirectCase here(direct_points_grid, {}, kernel, method.method, method.lattice);
    const DirectErrors errors = direct_errors(here, view_batch(here.set, direct_view_numbers(here.views, 7)),
                                              points_image(here.grid, direct_points(here.grid, true)));
    CAPTURE(method.name);
    CHECK(errors.largest > 0.003);  // at 4 sigma it is 0.0013 at most
    CHECK(errors.largest < 0.04);
  }
}

// Some two minutes: run once, for the table of share/doc/direct.md, by
//   test_kernels --no-skip --test-case="*all 120 direct views*"
TEST_CASE("A point and 26 points in all 120 direct views, at cuts of 4 and 3 sigma, and as published" *
          doctest::skip()) {
  struct Form {
    const char* name;
    DirectOperator method;
    HistoLattice lattice;
    bool is_published;
  };
  using enum DirectOperator;
  for (const Form& form :
       {Form{"two_stage, view", two_stage, HistoLattice::view, false},
        Form{"two_stage, image", two_stage, HistoLattice::image, false},
        Form{"two_stage, published", two_stage, HistoLattice::image, true},
        Form{"one_stage", one_stage, HistoLattice::image, false}, Form{"fft", fft, HistoLattice::image, false},
        Form{"fft, published", fft, HistoLattice::image, true}})
    for (const float radial_mm : {4.8f, 5.8f, 12.0f})
      for (const float cut : {4.0f, 3.0f})
        for (const bool is_middle : {true, false}) {
          DirectKernel kernel = plain_kernel(tof_sigma_of_ps(375));
          kernel.radial = {{0, radial_mm}};
          kernel.cut_sigma = cut;
          DirectCase here(direct_points_grid, {}, kernel, form.method, form.lattice);
          if (form.is_published) {
            here.settings.scheme = form.method == two_stage ? TwoStageScheme::paper : TwoStageScheme::footprint;
            here.settings.fft_ends = FftEnds::periodic;
            here.settings.fft_spectrum = FftSpectrum::analytic;
          }
          const DirectErrors errors =
              direct_errors(here, view_batch(here.set), points_image(here.grid, direct_points(here.grid, is_middle)));
          MESSAGE(std::string(form.name) << ", " << radial_mm << " mm, cut " << cut << ", "
                                         << std::string(is_middle ? "1 point" : "26 points") << ": largest "
                                         << 100 * errors.largest << " %, RMS " << 100 * errors.rms << " %");
          if (form.is_published || cut < 4) continue;
          CHECK(errors.largest < 0.005);
          CHECK(errors.rms < 0.001);
        }
}

TEST_CASE("One stage is the reference with its cut, to 1e-6 of the maximum; so is the FFT") {
  for (const NamedKernel& one : direct_kernels(12))
    for (const DirectMethod& method : direct_methods(one.kernel)) {
      if (method.method == DirectOperator::two_stage) continue;
      CAPTURE(one.name);
      CAPTURE(method.name);
      const DirectCase here(Grid::centred(14, 13, 7, {4, 4, 4}), {.azimuths = 4, .tilts = 3}, one.kernel, method.method,
                            method.lattice);
      const ViewBatch batch = view_batch(here.set, {1, 6, 11});
      const auto x = random_numbers(here.grid.voxels(), 1), y = random_numbers(batch.count, 2);
      const DirectReference reference = here.reference(ReferenceCut::ellipsoid);
      const auto projector = here.projector();
      const auto narrow = [](const std::vector<double>& values) {
        return std::vector<float>(values.begin(), values.end());
      };
      CHECK(error_of_range(direct_forward(*projector, batch, x), narrow(reference.forward(batch.view(), wide(x)))) <
            2e-6);
      CHECK(error_of_range(direct_back(*projector, batch, y), narrow(reference.back(batch.view(), wide(y)))) < 2e-6);
    }
}

TEST_CASE("As published, the direct FFT comes around at the image's ends, and its kernel swings below zero") {
  DirectKernel kernel = plain_kernel(12);
  kernel.radial = {{0, 5}};
  const Grid grid = Grid::centred(24, 24, 12, {4, 4, 4});
  DirectCase here(grid, {.azimuths = 4, .tilts = 1}, kernel, DirectOperator::fft, HistoLattice::image);
  const ViewBatch batch = view_batch(here.set);
  const auto point = points_image(grid, {{12, 2, 6}});
  const auto padded = direct_forward(*here.projector(), batch, point);
  const auto sum_of_view = [&](const std::vector<float>& histo, int v) {
    double sum = 0;
    for (std::int64_t p = 0; p < here.set.pixels(); ++p)
      sum += double{histo[static_cast<std::size_t>(v * here.set.pixels() + p)]};
    return sum;
  };
  here.settings.fft_ends = FftEnds::periodic;
  const auto periodic = direct_forward(*here.projector(), batch, point);
  here.settings.fft_spectrum = FftSpectrum::analytic;
  const auto projector = here.projector();
  const auto analytic = direct_forward(*projector, batch, point);
  for (int v = 0; v < 4; ++v) {
    CHECK(sum_of_view(padded, v) < 0.99);
    CHECK(sum_of_view(periodic, v) == approx(1).epsilon(1e-4));
    CHECK(sum_of_view(analytic, v) == approx(1).epsilon(1e-4));
  }
  // The opposite end, in the view that is steepest along y.
  const auto far_end = static_cast<std::size_t>(here.set.pixels() + grid.index(10, 22, 6));
  CHECK(padded[far_end] == 0);
  CHECK(periodic[far_end] > 1e-4f);
  const auto [low, high] = std::ranges::minmax(analytic);
  CHECK(*std::ranges::min_element(periodic) >= 0);
  CHECK(low < -0.001f * high);
  CHECK(low > -0.1f * high);
  // A kernel as wide as the published one's 10 mm hardly swings.
  here.settings.kernel.radial = {{0, 10}};
  here.settings.kernel.axial_fwhm_mm = 10;
  const auto wide_analytic = direct_forward(*here.projector(), batch, point);
  here.settings.fft_spectrum = FftSpectrum::sampled;
  CHECK(error_of_range(wide_analytic, direct_forward(*here.projector(), batch, point)) < 0.01);
  const auto x = random_numbers(grid.voxels(), 1), y = random_numbers(batch.count, 2);
  CHECK(inner(direct_forward(*projector, batch, x), y) ==
        approx(inner(x, direct_back(*projector, batch, y))).epsilon(1e-5));
}

TEST_CASE("A direct kernel's table has some 300 points at 3 sigma, 740 at 4, mirrored at its middle") {
  const Grid grid = Grid::centred(48, 48, 16, {4, 4, 4});
  for (const auto& [cut, least, most] : {std::tuple(3.0f, 290, 320), std::tuple(4.0f, 710, 770)}) {
    DirectKernel kernel = plain_kernel(tof_sigma_of_ps(375));
    kernel.cut_sigma = cut;
    const RadialProfiles profiles(kernel, 200);
    for (const double f : {2.25, 29.25, 47.25}) {
      const KernelTables tables(grid, ViewFrame::of(f, 6.67), kernel, profiles);
      CHECK(static_cast<int>(tables.points()) >= least);
      CHECK(static_cast<int>(tables.points()) <= most);
      double sum = 0;
      for (std::size_t i = 0; i < tables.points(); ++i) {
        CHECK(tables.values(3, 4)[i] == tables.values(3, 4)[tables.points() - 1 - i]);
        sum += double{tables.values(3, 4)[i]};
      }
      CHECK(sum == approx(1).epsilon(1e-6));
      const KernelRun& first = tables.runs().front();
      const KernelRun& last = tables.runs().back();
      CHECK(first.dx == -last.dx);
      CHECK(first.dy == -last.dy);
      CHECK(first.dz == -(last.dz + last.count - 1));
    }
  }
}

TEST_CASE("A point's projection has unit sum, its place, and the kernel's widths, at every azimuth and tilt") {
  const DirectKernel kernel = plain_kernel(12);
  const Grid grid = Grid::centred(37, 37, 25, {4, 4, 4});
  const std::array<int, 3> voxel = {19, 17, 12};
  const Vec3d at = grid.centre(voxel[0], voxel[1], voxel[2]).as<double>();
  for (const DirectMethod& method : direct_methods(kernel)) {
    CAPTURE(method.name);
    const DirectCase here(grid, {}, kernel, method.method, method.lattice);
    const int step = method.name == "two_stage, image" || method.method == DirectOperator::fft ? 7 : 1;
    const std::vector<int> numbers = direct_view_numbers(here.views, step);
    const auto histo = direct_forward(*here.projector(), view_batch(here.set, numbers), points_image(grid, {voxel}));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CAPTURE(numbers[i]);
      const ViewFrame frame = here.frame(numbers[i]);
      const auto moments = frame_moments(histo.data() + static_cast<std::int64_t>(i) * here.set.pixels(),
                                         here.lattice(numbers[i]), frame);
      CHECK(std::abs(moments.sum - 1) < 1e-5);
      CHECK(std::abs(moments.mean.x - frame.t(at)) < 0.05);
      CHECK(std::abs(moments.mean.y - frame.s(at)) < 0.05);
      CHECK(std::abs(moments.mean.z - frame.z(at)) < 0.05);
      CHECK(moments.sigma.x == approx(12).epsilon(0.01));
      CHECK(moments.sigma.y == approx(6.5 / fwhm_per_sigma).epsilon(0.01));
      CHECK(moments.sigma.z == approx(6.5 / fwhm_per_sigma).epsilon(0.01));
    }
  }
}

TEST_CASE("Each voxel's direct kernel sums to 1 also where it is sampled coarsely") {
  DirectKernel kernel = plain_kernel(9);
  kernel.radial = {{0, 4.8f}};
  const Grid grid = Grid::centred(31, 31, 17, {4, 4, 4});
  for (const DirectMethod& method : direct_methods(kernel)) {
    CAPTURE(method.name);
    kernel.axial_fwhm_mm = method.name == "two_stage, image" ? 4.8f : 2.5f;
    // In tilted views two_stage takes no kernel that is so narrow.
    const int tilts = method.name == "two_stage, view" ? 1 : 3;
    const DirectCase here(grid, {.azimuths = 5, .tilts = tilts}, kernel, method.method, method.lattice);
    const ViewBatch batch = view_batch(here.set);
    const auto projector = here.projector();
    const auto sums = direct_back(*projector, batch, std::vector<float>(static_cast<std::size_t>(batch.count), 1));
    for (int j = 12; j < 19; ++j)
      for (int i = 12; i < 19; ++i)
        CHECK(sums[static_cast<std::size_t>(grid.index(i, j, 8))] / static_cast<float>(5 * tilts) ==
              approx(1).epsilon(1e-5));
  }
}
// SPDX-License-Identifier: Apache-2.0
