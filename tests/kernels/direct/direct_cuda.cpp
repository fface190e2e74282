// The operators of DIRECT on CUDA against those of the CPU: every kernel, lattice and tilt, odd and unequal sizes, more
// rows than a block makes at a time, views in part and twice; A^T as the adjoint; EM steps; the same bits twice.
#include "kernels/device/cufft_library.hpp"
#include "kernels/direct/deposit.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct DirectResults {
  std::vector<float> forward, back, em, sensitivity, ones;
  EmTally tally;
};

DirectResults direct_results(ViewProjector& projector, const ViewSet& set, const std::vector<int>& numbers) {
  const Memory memory = memory_of(projector.backend());
  ViewBatch host = view_batch(set, numbers);
  host.multiplicative = Buffer<float>::from(random_numbers(host.count, 4, 0.5f, 1.5f));
  host.additive = Buffer<float>::from(random_numbers(host.count, 5, 0.5f, 1));
  set_counts(host, random_numbers(host.count, 3, 0, 40));
  const ViewBatch batch = host.to(memory);
  const std::int64_t voxels = projector.grid().voxels();
  const Buffer<float> image = Buffer<float>::from(random_numbers(voxels, 1, 0.2f, 1)).to(memory);
  const Buffer<float> values = Buffer<float>::from(random_numbers(host.count, 2)).to(memory);
  DirectResults results;
  Buffer<float> expectation(memory, batch.count);
  projector.forward(batch.view(), image.data(), expectation.data());
  results.forward = expectation.to_vector();
  const auto image_of = [&](auto&& add) {
    auto sum = Buffer<float>::from(random_numbers(voxels, 6, 0, 1e-3f)).to(memory);  // what was there stays
    add(sum.data());
    return sum.to_vector();
  };
  results.back = image_of([&](float* sum) { projector.back(batch.view(), values.data(), sum); });
  results.ones = image_of([&](float* sum) { projector.back(batch.view(), nullptr, sum); });
  results.em = image_of([&](float* sum) { results.tally = projector.em_step(batch.view(), image.data(), sum); });
  results.sensitivity = image_of([&](float* sum) { projector.add_sensitivity(batch.view(), sum); });
  return results;
}

void check_direct_on_gpu(const DirectCase& here, const std::vector<int>& numbers) {
  if (here.settings.method == DirectOperator::fft && !why_no_cufft().empty()) return;
  const auto gpu = make_direct_projector(here.grid, here.set, here.settings, Backend::cuda);
  const DirectResults expected = direct_results(*here.projector(), here.set, numbers);
  const DirectResults found = direct_results(*gpu, here.set, numbers);
  // Both have rounding of their own, two resamplings and transforms more of it.
  const bool is_longer = here.settings.method == DirectOperator::fft || here.settings.lattice == HistoLattice::image;
  const double most = here.settings.method == DirectOperator::fft ? 5e-6 : (is_longer ? 2e-6 : 1e-6);
  CHECK(error_of_range(found.forward, expected.forward) < most);
  CHECK(error_of_range(found.back, expected.back) < most);
  // With periodic ends ones become ones everywhere, whose range is rounding.
  if (here.settings.fft_ends == FftEnds::padded) CHECK(error_of_range(found.ones, expected.ones) < most);
  CHECK(error_of_range(found.sensitivity, expected.sensitivity) < most);
  CHECK(error_of_range(found.em, expected.em) < 2 * most);
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.skipped == expected.tally.skipped);
  CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(3e-6));
  const DirectResults again = direct_results(*gpu, here.set, numbers);
  CHECK(again.forward == found.forward);
  CHECK(again.back == found.back);
  CHECK(again.em == found.em);

  const auto x = random_numbers(here.grid.voxels(), 1), y = random_numbers(std::ssize(found.forward), 2);
  const ViewBatch batch = view_batch(here.set, numbers).to(Memory::device);
  const auto on_device = [](const std::vector<float>& values) {
    return Buffer<float>::from(values).to(Memory::device);
  };
  Buffer<float> histo(Memory::device, batch.count), image = Buffer<float>::zeros(Memory::device, here.grid.voxels());
  gpu->forward(batch.view(), on_device(x).data(), histo.data());
  gpu->back(batch.view(), on_device(y).data(), image.data());
  CHECK(std::abs(inner(histo.to_vector(), y) / inner(x, image.to_vector()) - 1) < 1e-5);
}

Grid direct_far_grid() {
  Grid grid = Grid::centred(13, 10, 7, {4, 5, 4.5f});
  grid.origin_mm = grid.origin_mm + Vec3{9, -6, 20};
  return grid;
}

}  // namespace

TEST_CASE("DIRECT on CUDA is the CPU's: every kernel, operator, lattice and tilt, odd and unequal sizes") {
  if (!gpu_or_skip()) return;
  for (const Grid& grid : {Grid::centred(16, 16, 8, {4, 4, 4}), Grid::centred(15, 15, 9, {4, 4, 4}), direct_far_grid()})
    for (const NamedKernel& one : direct_kernels(12))
      for (const DirectMethod& method : direct_methods(one.kernel))
        for (const DirectViews& views : {DirectViews{.azimuths = 5, .tilts = 3, .acceptance_deg = 10},
                                         DirectViews{.azimuths = 3, .tilts = 2, .acceptance_deg = 45}}) {
          CAPTURE(one.name);
          CAPTURE(method.name);
          CAPTURE(grid.size[0]);
          CAPTURE(views.tilts);
          check_direct_on_gpu({grid, views, one.kernel, method.method, method.lattice}, {0, 1, 2, 3, 4, 5});
          check_direct_on_gpu({grid, views, one.kernel, method.method, method.lattice}, {4, 1, 1});
        }
}

TEST_CASE("DIRECT on CUDA: Fourier space as published, whose ends meet and whose kernels are analytic") {
  if (!gpu_or_skip()) return;
  for (const FftEnds ends : {FftEnds::padded, FftEnds::periodic})
    for (const FftSpectrum spectrum : {FftSpectrum::sampled, FftSpectrum::analytic})
      for (const Grid& grid : {Grid::centred(16, 16, 8, {4, 4, 4}), Grid::centred(15, 18, 9, {4, 4, 5})}) {
        DirectCase here(grid, {.azimuths = 5, .tilts = 3, .acceptance_deg = 10}, plain_kernel(12), DirectOperator::fft,
                        HistoLattice::image);
        here.settings.fft_ends = ends;
        here.settings.fft_spectrum = spectrum;
        check_direct_on_gpu(here, {0, 7, 14, 7});
      }
}

TEST_CASE("DIRECT on CUDA: kernels of 1.2 to 1.5 voxels, whose weights are set by their moments") {
  if (!gpu_or_skip()) return;
  for (const float fwhm_mm : {4.9f, 5.4f, 5.9f}) {
    CAPTURE(fwhm_mm);
    DirectKernel narrow = plain_kernel(12);
    narrow.radial = {{0, fwhm_mm}};
    narrow.axial_fwhm_mm = fwhm_mm;
    check_direct_on_gpu({Grid::centred(16, 15, 9, {4, 4, 4}),
                         {.azimuths = 5, .tilts = 1, .acceptance_deg = 10},
                         narrow,
                         DirectOperator::two_stage,
                         HistoLattice::view},
                        {0, 1, 3, 4});
  }
}

TEST_CASE("DIRECT on CUDA: more rows than a block makes at a time, wide kernels") {
  if (!gpu_or_skip()) return;
  const DirectViews views{.azimuths = 4, .tilts = 3, .acceptance_deg = 12};
  for (const DirectMethod& method : direct_methods(plain_kernel(12))) {
    CAPTURE(method.name);
    check_direct_on_gpu({Grid::centred(9, 9, 150, {4, 4, 4}), views, plain_kernel(12), method.method, method.lattice},
                        {0, 5, 11});
    DirectKernel wide = plain_kernel(25);
    wide.radial = {{0, 30}};
    wide.axial_fwhm_mm = 20;
    check_direct_on_gpu({Grid::centred(40, 40, 12, {4, 4, 4}), views, wide, method.method, method.lattice}, {3, 10});
    check_direct_on_gpu({Grid::centred(70, 33, 5, {4, 4, 4}), views, plain_kernel(17), method.method, method.lattice},
                        {1, 6});
  }
}

TEST_CASE("DIRECT on CUDA: two_stage where lists, or all rows of some points, are more than shared memory holds") {
  if (!gpu_or_skip()) return;
  const DirectViews views{.azimuths = 4, .tilts = 3, .acceptance_deg = 12};
  DirectKernel wide = plain_kernel(12);
  wide.radial = {{0, 60}};
  check_direct_on_gpu({Grid::centred(72, 72, 5, {4, 4, 4}), views, wide, DirectOperator::two_stage, HistoLattice::view},
                      {1, 6});
  check_direct_on_gpu(
      {Grid::centred(9, 9, 420, {4, 4, 4}), views, plain_kernel(12), DirectOperator::two_stage, HistoLattice::view},
      {2, 7});
}

TEST_CASE("Events are deposited on CUDA as on the CPU, and counted by the same reasons") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(24, 24, 12, {4, 4, 4});
  const DirectViews views{.azimuths = 7, .tilts = 3, .acceptance_deg = 15};
  std::vector<Lor> lors;
  const auto numbers = random_numbers(6 * 200000, 5, -1, 1);
  for (std::size_t i = 0; i + 6 <= numbers.size(); i += 6)
    lors.push_back({{120 * numbers[i], 120 * numbers[i + 1], 40 * numbers[i + 2]},
                    {120 * numbers[i + 3], 120 * numbers[i + 4], 40 * numbers[i + 5]},
                    30 * numbers[i]});
  lors.push_back({{5, 5, 5}, {5, 5, 5}, 0});
  lors.push_back({{5, 5, 5}, {-100, 5, 5}, INFINITY});
  const EventBatch host = batch_of(lors, {.sigma_mm = 20});
  const EventBatch there = host.to(Memory::device);
  for (const HistoLattice lattice : {HistoLattice::view, HistoLattice::image})
    for (const DepositKind how : {DepositKind::nearest, DepositKind::linear}) {
      const HistoDeposit on_host(grid, views, lattice, how);
      std::vector<float> expected(static_cast<std::size_t>(on_host.points()));
      const DepositTally tally = on_host.add(host.view(), expected.data());
      HistoDepositCuda deposit(grid, views, lattice, how);
      const DepositTally found = deposit.add(there.view());
      CHECK(found.deposited + found.rejected() == lors.size());
      // Where a line lies between two views to the last bit, the two may differ.
      const auto near = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b <= 3 : b - a <= 3; };
      CHECK(near(found.deposited, tally.deposited));
      CHECK(near(found.beyond_acceptance, tally.beyond_acceptance));
      CHECK(near(found.outside, tally.outside));
      CHECK(found.no_line == tally.no_line);
      const std::vector<float> counts = deposit.counts().to_vector();
      double apart = 0;
      for (std::size_t i = 0; i < counts.size(); ++i)
        apart += std::abs(static_cast<double>(counts[i]) - static_cast<double>(expected[i]));
      CHECK(apart < 1e-5 * static_cast<double>(tally.deposited) + 12);
      const std::int64_t points = deposit.points() / views.count();
      Buffer<float> two_views(Memory::device, 2 * points);
      deposit.copy_counts(5, 2, two_views.data());
      CHECK(std::ranges::equal(two_views.to_vector(), std::span(counts).subspan(static_cast<std::size_t>(5 * points),
                                                                                static_cast<std::size_t>(2 * points))));
      HistoDepositCuda again(grid, views, lattice, how);
      std::vector<std::uint64_t> of_views(static_cast<std::size_t>(views.count()));
      CHECK(again.add(there.view(), of_views.data()) == found);
      for (std::size_t v = 0; v < of_views.size(); ++v) {
        const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(v) * points;
        CHECK(std::accumulate(begin, begin + points, 0.0) == approx(static_cast<double>(of_views[v])).epsilon(1e-6));
      }
      CHECK(again.counts().to_vector() == counts);
    }
}
// SPDX-License-Identifier: Apache-2.0
