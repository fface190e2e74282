// Radial factors by tables: Gaussians in a table, any shape against the reference, exact adjoints, and what is refused.
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using Row = std::vector<float>;

/// The middle of `rows` at the axis, each with more on one side.
DirectKernel tabled_kernel(int rows) {
  DirectKernel kernel = plain_kernel(12);
  kernel.table = {.offset_step_mm = 2.5f, .radius_step_mm = 10, .rows = {}};
  for (int r = 0; r < rows; ++r) {
    const auto tail = static_cast<float>(r);
    kernel.table.rows.push_back(rows == 1 ? std::vector<float>{0, 2, 5, 6, 5, 2, 0}
                                          : std::vector<float>{0, 2, 5, 6, 5, 4 + tail, 3 + tail, 2, 0});
  }
  return kernel;
}

}  // namespace

TEST_CASE("A Gaussian in a table is the direct kernel that is a Gaussian") {
  const Grid grid = Grid::centred(20, 20, 9, {4, 4, 4});
  DirectKernel kernel = plain_kernel(12);
  kernel.cut_sigma = 5;
  DirectCase here(grid, {.azimuths = 5, .tilts = 3}, kernel, DirectOperator::one_stage, HistoLattice::image);
  const ViewBatch batch = view_batch(here.set, {1, 8, 14});
  const auto x = random_numbers(grid.voxels(), 1);
  const auto expected = direct_forward(*here.projector(), batch, x);
  const double sigma = 6.5 / fwhm_per_sigma;
  here.settings.kernel.table = {.offset_step_mm = 0.25f, .radius_step_mm = 0, .rows = std::vector<Row>(1)};
  for (int k = -60; k <= 60; ++k)
    here.settings.kernel.table.rows[0].push_back(
        static_cast<float>(std::exp(-0.5 * (0.25 * k / sigma) * (0.25 * k / sigma))));
  CHECK(error_of_range(direct_forward(*here.projector(), batch, x), expected) < 2e-3);
}

TEST_CASE("Direct kernels by tables are the reference's, with exact adjoints; the FFT has the same") {
  for (const int rows : {1, 9}) {
    CAPTURE(rows);
    const Grid grid = Grid::centred(14, 13, 7, {4, 4, 4});
    DirectCase here(grid, {.azimuths = 4, .tilts = 3}, tabled_kernel(rows), DirectOperator::one_stage,
                    HistoLattice::image);
    const ViewBatch batch = view_batch(here.set, {1, 6, 11});
    const auto x = random_numbers(grid.voxels(), 1), y = random_numbers(batch.count, 2);
    const auto projector = here.projector();
    const auto forward = direct_forward(*projector, batch, x), back = direct_back(*projector, batch, y);
    CHECK(inner(forward, y) == approx(inner(x, back)).epsilon(1e-5));
    const auto exact = here.reference(ReferenceCut::ellipsoid).forward(batch.view(), wide(x));
    CHECK(error_of_range(forward, std::vector<float>(exact.begin(), exact.end())) < 2e-6);
    if (rows > 1) continue;
    here.settings.method = DirectOperator::fft;
    CHECK(error_of_range(direct_forward(*here.projector(), batch, x), forward) < 1e-5);
  }
}

TEST_CASE("A point's projection by a table has the table's mean and width across the view") {
  const Grid grid = Grid::centred(31, 31, 9, {4, 4, 4});
  DirectKernel kernel = plain_kernel(12);
  kernel.table = {.offset_step_mm = 1, .radius_step_mm = 0, .rows = std::vector<Row>(1)};
  double mean = 0, square = 0, sum = 0;
  for (int k = -40; k <= 40; ++k) {  // smooth, with a tail on one side
    const double offset = k, value = std::exp(-offset * offset / 32) + 0.5 * std::exp(-(k - 8) * (k - 8) / 98.0);
    kernel.table.rows[0].push_back(static_cast<float>(value));
    sum += value, mean += value * offset, square += value * offset * offset;
  }
  mean /= sum;
  const double sigma = std::sqrt(square / sum - mean * mean);
  CHECK(mean > 2);
  const DirectCase here(grid, {.azimuths = 7, .tilts = 1}, kernel, DirectOperator::one_stage, HistoLattice::image);
  const auto histo = direct_forward(*here.projector(), view_batch(here.set), points_image(grid, {{15, 15, 4}}));
  for (int v = 0; v < 7; ++v) {
    CAPTURE(v);
    const auto moments = frame_moments(histo.data() + v * here.set.pixels(), here.lattice(v), here.frame(v));
    CHECK(std::abs(moments.mean.y - mean) < 0.05);
    CHECK(moments.sigma.y == approx(sigma).epsilon(0.02));
  }
}

TEST_CASE("Radial tables that cannot be are refused in one line that says what to do") {
  const Grid grid = Grid::centred(20, 20, 9, {4, 4, 4});
  const auto refused = [&](const DirectKernel& kernel, DirectOperator method, const char* words) {
    const DirectCase here(grid, {.azimuths = 4, .tilts = 1}, kernel, method, HistoLattice::image);
    CHECK_THROWS_WITH(here.projector(), doctest::Contains(words));
  };
  refused(tabled_kernel(3), DirectOperator::one_stage, "has 3 rows, 10 mm apart");
  refused(tabled_kernel(9), DirectOperator::fft, "one kernel for all voxels");
  refused(tabled_kernel(9), DirectOperator::two_stage, "take operator one_stage");
  const auto with = [](RadialTable table) {
    DirectKernel kernel = plain_kernel(12);
    kernel.table = std::move(table);
    return kernel;
  };
  const auto one = DirectOperator::one_stage;
  refused(with({0, 1, {Row{1}}}), one, "positive offset_step_mm");
  refused(with({1, 0, {Row{1}, Row{1}, Row{1}}}), one, "positive radius_step_mm");
  refused(with({1, 1, {Row{1}, Row{1}}}), one, "an odd number with the axis in the middle, not 2");
  refused(with({1, 1, {Row{1, 2}}}), one, "row 0 has 2");
  refused(with({1, 1, {Row{1, -2, 1}}}), one, "row 0 has -2");
  refused(with({1, 1, {Row{0, 0, 0}}}), one, "row 0 is 0");
  refused(with({41, 1, {Row{1, 2, 1}}}), one, "values over 82 mm, and the image is 80 mm wide");
}

TEST_CASE("Direct kernels by tables on CUDA are those on the CPU") {
  if (!gpu_or_skip()) return;
  const DirectCase here(Grid::centred(20, 19, 9, {4, 4, 4}), {.azimuths = 4, .tilts = 3}, tabled_kernel(13),
                        DirectOperator::one_stage, HistoLattice::image);
  const ViewBatch batch = view_batch(here.set, {1, 6, 11}), there = batch.to(Memory::device);
  const auto x = random_numbers(here.grid.voxels(), 1);
  const Buffer<float> x_there = Buffer<float>::from(x).to(Memory::device);
  Buffer<float> histo(Memory::device, batch.count);
  make_direct_projector(here.grid, here.set, here.settings, Backend::cuda)
      ->forward(there.view(), x_there.data(), histo.data());
  CHECK(error_of_range(histo.to_vector(), direct_forward(*here.projector(), batch, x)) < 1e-6);
}
// SPDX-License-Identifier: Apache-2.0
