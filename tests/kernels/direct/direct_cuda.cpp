// The operators of DIRECT on CUDA against those of the CPU: every kernel, lattice and tilt, odd and unequal sizes, more
// rows than a block makes at a time, views in part and twice; A^T as the adjoint; EM steps; the same bits twice.
#include "tests/kernels/direct/direct_support.hpp"
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
  const auto gpu = make_direct_projector(here.grid, here.set, here.settings, Backend::cuda);
  const DirectResults expected = direct_results(*here.projector(), here.set, numbers);
  const DirectResults found = direct_results(*gpu, here.set, numbers);
  CHECK(error_of_range(found.forward, expected.forward) < 1e-6);
  CHECK(error_of_range(found.back, expected.back) < 1e-6);
  CHECK(error_of_range(found.ones, expected.ones) < 1e-6);
  CHECK(error_of_range(found.sensitivity, expected.sensitivity) < 1e-6);
  CHECK(error_of_range(found.em, expected.em) < 2e-6);
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.skipped == expected.tally.skipped);
  CHECK(found.tally.log_sum == doctest::Approx(expected.tally.log_sum).epsilon(1e-6));
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

TEST_CASE("DIRECT on CUDA: more rows than a block makes at a time, wide and narrow kernels, one voxel") {
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
// SPDX-License-Identifier: Apache-2.0
