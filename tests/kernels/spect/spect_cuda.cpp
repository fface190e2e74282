// The rotation projector on CUDA against the reference in double precision: beams, point spreads, attenuation, odd and
// unequal sizes, voxels of another size than pixels, heads at different heights; A^T as the adjoint; the same bits twice.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct GpuResults {
  std::vector<float> forward, back, em, sensitivity;
  EmTally tally;
};

GpuResults on_gpu_or_cpu(ViewProjector& projector, const ViewSet& set, const std::vector<int>& numbers) {
  const Memory memory = memory_of(projector.backend());
  ViewBatch host = view_batch(set, numbers);
  host.multiplicative = Buffer<float>::from(random_numbers(host.count, 4, 0.5f, 1.5f));
  host.additive = Buffer<float>::from(random_numbers(host.count, 5, 0.5f, 1));
  set_counts(host, random_numbers(host.count, 3, 0, 40));
  const ViewBatch batch = host.to(memory);
  const Buffer<float> image = Buffer<float>::from(random_image(projector, 1)).to(memory);
  const Buffer<float> values = Buffer<float>::from(random_numbers(host.count, 2)).to(memory);
  const std::int64_t voxels = projector.grid().voxels();
  GpuResults results;
  Buffer<float> expectation(memory, batch.count);
  projector.forward(batch.view(), image.data(), expectation.data());
  results.forward = expectation.to_vector();
  const auto image_of = [&](auto&& add) {
    auto sum = Buffer<float>::zeros(memory, voxels);
    add(sum.data());
    return sum.to_vector();
  };
  results.back = image_of([&](float* sum) { projector.back(batch.view(), values.data(), sum); });
  results.em = image_of([&](float* sum) { results.tally = projector.em_step(batch.view(), image.data(), sum); });
  results.sensitivity = image_of([&](float* sum) { projector.add_sensitivity(batch.view(), sum); });
  return results;
}

std::vector<int> all_views_of(const ViewSet& set) {
  std::vector<int> numbers;
  for (int v = 0; v < static_cast<int>(set.places.size()); ++v) numbers.push_back(v);
  return numbers;
}

void check_on_gpu(const Grid& grid, const ViewSet& set, const SpectSettings& settings, std::vector<int> numbers = {}) {
  if (numbers.empty()) numbers = all_views_of(set);
  const auto gpu = make_rotation_projector(grid, set, settings, Backend::cuda);
  const GpuResults expected = on_gpu_or_cpu(*make_rotation_reference(grid, set, settings), set, numbers);
  const GpuResults found = on_gpu_or_cpu(*gpu, set, numbers);
  CAPTURE(static_cast<int>(settings.beam));
  CAPTURE(static_cast<int>(settings.form));
  CAPTURE(settings.mu_per_mm != nullptr);
  CAPTURE(grid.size[0]);
  CHECK(error_of_range(found.forward, expected.forward) < 1e-6);
  CHECK(error_of_range(found.back, expected.back) < 1e-6);
  CHECK(error_of_range(found.sensitivity, expected.sensitivity) < 1e-6);
  CHECK(error_of_range(found.em, expected.em) < 2e-6);
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.skipped == expected.tally.skipped);
  CHECK(found.tally.log_sum == doctest::Approx(expected.tally.log_sum).epsilon(1e-6));
  const GpuResults again = on_gpu_or_cpu(*gpu, set, numbers);
  CHECK(again.forward == found.forward);
  CHECK(again.back == found.back);
  CHECK(again.em == found.em);
}

std::vector<SpectSettings> gpu_settings() {
  std::vector<SpectSettings> all = {{}, spread_settings(PsfForm::separable)};
  all.push_back(spread_settings(PsfForm::separable));
  all.back().mu_per_mm = mu_cylinder(0.015f, 40, {4, 2, 0});
  all.back().counts_per_decay = 1e-4f;
  all.push_back(spread_settings(PsfForm::separable));
  all.back().beam = Beam::fan;
  all.back().focal_mm = 400;
  all.push_back(all.back());
  all.back().mu_per_mm = mu_cylinder(0.015f, 40, {4, 2, 0});
  return all;
}

}  // namespace

TEST_CASE("SPECT on CUDA is the reference's: beams, point spread, attenuation, odd and unequal sizes") {
  if (!gpu_or_skip()) return;
  for (const SpectSettings& settings : gpu_settings()) {
    check_on_gpu(Grid::centred(24, 24, 16, {4, 4, 4}), circular_views(12, 24, 16), settings);
    check_on_gpu(Grid::centred(33, 29, 21, {4, 4, 4}), circular_views(7, 31, 19), settings);
  }
}

TEST_CASE("SPECT on CUDA: more rows than a tile has, voxels larger and smaller than pixels, part of the views") {
  if (!gpu_or_skip()) return;
  const SpectSettings spread = spread_settings(PsfForm::separable);
  check_on_gpu(Grid::centred(20, 20, 150, {4, 4, 4}), circular_views(5, 20, 150), spread);
  check_on_gpu(Grid::centred(16, 16, 12, {6, 6, 5}), circular_views(9, 24, 16), spread);
  check_on_gpu(Grid::centred(40, 40, 30, {2.4f, 2.4f, 2.4f}), circular_views(6, 24, 18), spread);
  check_on_gpu(Grid::centred(24, 24, 16, {4, 4, 4}), circular_views(12, 24, 16), spread, {3, 11, 4});
}

TEST_CASE("SPECT on CUDA: several tiles of rows and columns, wide point spreads, thin, boxed and hidden images") {
  if (!gpu_or_skip()) return;
  const SpectSettings spread = spread_settings(PsfForm::separable);
  check_on_gpu(Grid::centred(8, 8, 280, {4, 4, 4}), circular_views(3, 10, 290), spread);
  check_on_gpu(Grid::centred(12, 12, 6, {4, 4, 4}), circular_views(3, 150, 7), spread);
  check_on_gpu(Grid::centred(40, 40, 10, {4, 4, 4}), circular_views(4, 30, 14, 4, 60), spread);
  SpectSettings wide = spread;
  wide.psf = GaussianPsfModel{.slope = 0.1f, .sigma0_mm = 6};
  wide.mu_per_mm = mu_cylinder(0.015f, 40);
  check_on_gpu(Grid::centred(20, 20, 12, {4, 4, 4}), circular_views(3, 22, 14), wide);
  SpectSettings boxed = spread;
  boxed.box = true;
  check_on_gpu(Grid::centred(1, 9, 7, {4, 4, 4}), circular_views(5, 12, 8), boxed);
  check_on_gpu(Grid::centred(13, 9, 7, {4, 4, 4}), circular_views(5, 20, 8), {.box = true});
}

TEST_CASE("SPECT on CUDA: heads whose middles lie at different heights and beside the axis, at different radii") {
  if (!gpu_or_skip()) return;
  ViewSet set = circular_views(10, 24, 16);
  for (std::size_t v = 0; v < set.places.size(); ++v) {
    set.places[v].centre_w_mm = v % 2 == 0 ? 0 : 3;
    set.places[v].centre_u_mm = v % 3 == 0 ? -2.5f : 1;
    set.places[v].radius_mm = 90 + 4 * static_cast<float>(v);
  }
  for (const SpectSettings& settings : gpu_settings())
    check_on_gpu(Grid::centred(24, 24, 16, {4, 4, 4}), set, settings);
}

TEST_CASE("SPECT on CUDA: back projection is the adjoint of projection, and sixty updates stay with the reference") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(24, 24, 16, {4, 4, 4});
  const ViewSet set = circular_views(12, 24, 16);
  SpectSettings settings = spread_settings(PsfForm::separable);
  settings.mu_per_mm = mu_cylinder(0.01f, 40);
  const auto update_sixty_times = [&](ViewProjector& projector) {
    const Memory memory = memory_of(projector.backend());
    ViewBatch host = view_batch(set);
    const auto truth = blob_image(grid, {8, -12, 4}, 14);
    set_counts(host, forward_of(*make_rotation_reference(grid, set, settings), host, truth));
    const ViewBatch batch = host.to(memory);
    auto sensitivity = Buffer<float>::zeros(memory, grid.voxels());
    projector.add_sensitivity(batch.view(), sensitivity.data());
    const auto s = sensitivity.to_vector();
    std::vector<float> x(s.size(), 1.0f);
    for (int update = 0; update < 60; ++update) {
      const Buffer<float> image = Buffer<float>::from(x).to(memory);
      auto sum = Buffer<float>::zeros(memory, grid.voxels());
      projector.em_step(batch.view(), image.data(), sum.data());
      const auto back = sum.to_vector();
      for (std::size_t v = 0; v < x.size(); ++v) x[v] = s[v] > 0 ? x[v] * back[v] / s[v] : 0.0f;
    }
    return x;
  };
  const auto gpu = make_rotation_projector(grid, set, settings, Backend::cuda);
  const auto found = update_sixty_times(*gpu),
             expected = update_sixty_times(*make_rotation_reference(grid, set, settings));
  CHECK(error_of_range(found, expected) < 2e-5);
  const GpuResults results = on_gpu_or_cpu(*gpu, set, all_views_of(set));
  const auto x = random_image(*gpu, 1), y = random_numbers(set.pixels() * 12, 2);
  CHECK(inner(results.forward, y) == doctest::Approx(inner(x, results.back)).epsilon(1e-5));
}

TEST_CASE("what SPECT on CUDA has not is said in one line") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(24, 24, 16, {4, 4, 4});
  const ViewSet set = circular_views(12, 24, 16);
  CHECK_THROWS_WITH(make_rotation_projector(grid, set, table_settings(PsfForm::table), Backend::cuda),
                    "on a GPU there are no kernel tables yet: set backend: cpu");
}
// SPDX-License-Identifier: Apache-2.0
