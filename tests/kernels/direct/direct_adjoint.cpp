// The back projection of histo-images is the forward projection's transpose: for every kernel, operator, tilt, odd and
// even sizes; in double precision to 1e-12, in float to 1e-5.
#include <tbb/global_control.h>

#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

Grid direct_off_axis_grid() {
  Grid grid = Grid::centred(13, 10, 7, {4, 5, 4.5f});
  grid.origin_mm = grid.origin_mm + Vec3{9, -6, 20};
  return grid;
}

/// The relative difference of <K x, y> and <x, K^T y> for one batch of views.
double direct_adjoint_error(ViewProjector& projector, const ViewBatch& batch) {
  const auto x = random_numbers(projector.grid().voxels(), 1), y = random_numbers(batch.count, 2);
  return std::abs(inner(direct_forward(projector, batch, x), y) / inner(x, direct_back(projector, batch, y)) - 1);
}

}  // namespace

TEST_CASE("The direct reference's back projection is its forward projection's transpose to 1e-12") {
  for (const Grid& grid : {Grid::centred(6, 6, 4, {4, 4, 4}), Grid::centred(5, 7, 3, {4, 4, 4})})
    for (const NamedKernel& one : direct_kernels(5))
      for (const HistoLattice lattice : {HistoLattice::view, HistoLattice::image}) {
        CAPTURE(one.name);
        CAPTURE(grid.size[0]);
        const DirectCase here(grid, {.azimuths = 3, .tilts = 2, .acceptance_deg = 20}, one.kernel,
                              lattice == HistoLattice::view ? DirectOperator::two_stage : DirectOperator::one_stage,
                              lattice);
        const ViewBatch batch = view_batch(here.set, {0, 4});
        const DirectReference reference = here.reference();
        const auto x = random_numbers(grid.voxels(), 1), y = random_numbers(batch.count, 2);
        const double forward = inner(reference.forward(batch.view(), wide(x)), y);
        const double back = inner(x, reference.back(batch.view(), wide(y)));
        CHECK(std::abs(forward / back - 1) < 1e-12);
      }
}

TEST_CASE("Back projections of histo-images are the forward projections' transposes to 1e-5") {
  for (const Grid& grid :
       {Grid::centred(16, 16, 8, {4, 4, 4}), Grid::centred(15, 15, 9, {4, 4, 4}), direct_off_axis_grid()})
    for (const NamedKernel& one : direct_kernels(12))
      for (const DirectMethod& method : direct_methods(one.kernel))
        for (const DirectViews& views : {DirectViews{.azimuths = 5, .tilts = 3, .acceptance_deg = 10},
                                         DirectViews{.azimuths = 3, .tilts = 2, .acceptance_deg = 45}}) {
          CAPTURE(one.name);
          CAPTURE(method.name);
          CAPTURE(grid.size[0]);
          CAPTURE(views.tilts);
          const DirectCase here(grid, views, one.kernel, method.method, method.lattice);
          const auto projector = here.projector();
          CHECK(direct_adjoint_error(*projector, view_batch(here.set)) < 1e-5);
          CHECK(direct_adjoint_error(*projector, view_batch(here.set, {4, 1, 1})) < 1e-5);
        }
}

TEST_CASE("With a symmetric and invariant kernel on the image's lattice, forward and back projection are one") {
  const Grid grid = Grid::centred(16, 15, 8, {4, 4, 4});
  const DirectKernel kernel = plain_kernel(12);
  for (const DirectOperator method : {DirectOperator::one_stage, DirectOperator::fft}) {
    const DirectCase here(grid, {.azimuths = 4, .tilts = 3}, kernel, method, HistoLattice::image);
    const auto projector = here.projector();
    const auto x = random_numbers(grid.voxels(), 3);
    for (int v = 0; v < here.views.count(); ++v) {
      const ViewBatch batch = view_batch(here.set, {v});
      CHECK(error_of_range(direct_forward(*projector, batch, x), direct_back(*projector, batch, x)) < 1e-5);
    }
  }
}

TEST_CASE("Projections of histo-images have the same bits for each view alone as for all at once") {
  const Grid grid = Grid::centred(15, 15, 9, {4, 4, 4});
  for (const DirectMethod& method : direct_methods(plain_kernel(12))) {
    if (method.method == DirectOperator::fft) continue;
    CAPTURE(method.name);
    const DirectCase here(grid, {.azimuths = 4, .tilts = 3}, direct_kernels(12).back().kernel, method.method,
                          method.lattice);
    const auto projector = here.projector();
    const auto x = random_numbers(grid.voxels(), 3);
    const auto all = direct_forward(*projector, view_batch(here.set), x);
    for (int v = 0; v < here.views.count(); ++v) {
      const auto one = direct_forward(*projector, view_batch(here.set, {v}), x);
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(v * here.set.pixels());
      CHECK(same_bits(one, {first, first + static_cast<std::ptrdiff_t>(here.set.pixels())}));
    }
  }
}

TEST_CASE("Direct operators have the same bits on any number of threads, and agree on all instruction sets") {
  const Grid grid = Grid::centred(15, 15, 9, {4, 4, 4});
  for (const DirectMethod& method : direct_methods(plain_kernel(12))) {
    CAPTURE(method.name);
    const DirectCase here(grid, {.azimuths = 4, .tilts = 3}, plain_kernel(12), method.method, method.lattice);
    const ViewBatch batch = view_batch(here.set);
    const auto x = random_numbers(grid.voxels(), 3), y = random_numbers(batch.count, 4);
    const auto project = [&](std::size_t threads) {
      const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, threads);
      const auto projector = here.projector();
      return std::pair(direct_forward(*projector, batch, x), direct_back(*projector, batch, y));
    };
    const auto [forward, back] = project(1);
    for (const std::size_t threads : {2, 16}) {
      const auto [other_forward, other_back] = project(threads);
      CHECK(same_bits(other_forward, forward));
      CHECK(same_bits(other_back, back));
    }
    for_each_instruction_set([&](const std::string&) {
      const auto [other_forward, other_back] = project(2);
      CHECK(error_of_range(other_forward, forward) < 1e-6);
      CHECK(error_of_range(other_back, back) < 1e-6);
    });
  }
}

TEST_CASE("Direct back projection adds into the image, and values of null are ones") {
  const Grid grid = Grid::centred(12, 12, 6, {4, 4, 4});
  for (const DirectMethod& method : direct_methods(plain_kernel(10))) {
    CAPTURE(method.name);
    const DirectCase here(grid, {.azimuths = 3, .tilts = 1}, plain_kernel(10), method.method, method.lattice);
    const auto projector = here.projector();
    const ViewBatch batch = view_batch(here.set);
    const auto expected = direct_back(*projector, batch, std::vector<float>(static_cast<std::size_t>(batch.count), 1));
    std::vector<float> image(static_cast<std::size_t>(grid.voxels()), 2), sensitivity(image.size());
    projector->back(batch.view(), nullptr, image.data());
    projector->add_sensitivity(batch.view(), sensitivity.data());
    for (std::size_t v = 0; v < image.size(); ++v) CHECK(image[v] - 2 == approx(double{expected[v]}).epsilon(1e-5));
    CHECK(error_of_range(sensitivity, expected) < 1e-6);
  }
}
// SPDX-License-Identifier: Apache-2.0
