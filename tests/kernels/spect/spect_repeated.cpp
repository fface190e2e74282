// Calls of one rotation projector on CUDA one after the other: what it keeps from call to call, recorded work and what is
// left of photons, changes no bit of what a new projector gives.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid repeated_grid = Grid::centred(24, 24, 16, {4, 4, 4});

std::unique_ptr<ViewProjector> attenuated_projector(const ViewSet& set) {
  SpectSettings settings = spread_settings(PsfForm::separable);
  settings.mu_per_mm = mu_cylinder(0.015f, 40, {4, 2, 0});
  return make_rotation_projector(repeated_grid, set, settings, Backend::cuda);
}

ViewBatch counted_views(const ViewSet& set, const std::vector<int>& numbers) {
  ViewBatch host = view_batch(set, numbers);
  set_counts(host, random_numbers(host.count, 3, 0, 40));
  return host.to(Memory::device);
}

std::vector<float> em_sum(ViewProjector& projector, const ViewBatch& batch, const Buffer<float>& image,
                          Buffer<float>& sum) {
  sum.clear();
  projector.em_step(batch.view(), image.data(), sum.data());
  return sum.to_vector();
}

}  // namespace

TEST_CASE("SPECT on CUDA: repeated EM steps see new images at the old address, whatever steps lie between") {
  if (!gpu_or_skip()) return;
  const ViewSet set = circular_views(12, 24, 16);
  const auto projector = attenuated_projector(set);
  const ViewBatch few = counted_views(set, {3, 8}), many = counted_views(set, {0, 1, 2, 4, 5, 6, 7, 9, 10, 11});
  Buffer<float> image(Memory::device, repeated_grid.voxels()), sum(Memory::device, repeated_grid.voxels());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    image = Buffer<float>(Memory::device, 0);  // its address is given out again
    image = Buffer<float>::from(random_image(*projector, seed)).to(Memory::device);
    for (const ViewBatch* batch : {&few, &many, &few}) {
      const std::vector<float> expected = em_sum(*attenuated_projector(set), *batch, image, sum);
      CHECK(em_sum(*projector, *batch, image, sum) == expected);
    }
  }
}

TEST_CASE("SPECT on CUDA: what is left of photons is of the views that are asked for") {
  if (!gpu_or_skip()) return;
  const ViewSet set = circular_views(12, 24, 16);
  const auto projector = attenuated_projector(set);
  const ViewBatch first = counted_views(set, {0, 4, 8}), second = counted_views(set, {1, 5, 9});
  const Buffer<float> image = Buffer<float>::from(random_image(*projector, 1)).to(Memory::device);
  const auto projected = [&](ViewProjector& with, const ViewBatch& batch) {
    Buffer<float> expectation(Memory::device, batch.count);
    with.forward(batch.view(), image.data(), expectation.data());
    return expectation.to_vector();
  };
  const auto back = [&](ViewProjector& with, const ViewBatch& batch) {
    auto sum = Buffer<float>::zeros(Memory::device, repeated_grid.voxels());
    with.back(batch.view(), batch.counts.data(), sum.data());
    return sum.to_vector();
  };
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(projected(*projector, first) == projected(*attenuated_projector(set), first));
    CHECK(projected(*projector, first) == projected(*attenuated_projector(set), first));
    CHECK(projected(*projector, second) == projected(*attenuated_projector(set), second));
    CHECK(back(*projector, first) == back(*attenuated_projector(set), first));
    CHECK(back(*projector, first) == back(*attenuated_projector(set), first));
    CHECK(projected(*projector, first) == projected(*attenuated_projector(set), first));
    CHECK(back(*projector, first) == back(*attenuated_projector(set), first));
  }
}
// SPDX-License-Identifier: Apache-2.0
