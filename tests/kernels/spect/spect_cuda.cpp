// The rotation projector on CUDA, the usual one and the general one of all settings, against the reference in double
// precision: beams, point spreads, attenuation, odd and unequal sizes, voxels of another size than pixels, heads at
// different heights; A^T as the adjoint; the same bits twice.
#include "kernels/device/cufft_library.hpp"
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"
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
  // In Fourier space what is below 1e-6 of a view's largest value becomes 0.
  const double tolerance = settings.form == PsfForm::fft ? 2e-6 : 1e-6;
  CHECK(rms_of_range(found.forward, expected.forward) < 1e-6);
  CHECK(rms_of_range(found.back, expected.back) < 1e-6);
  CHECK(error_of_range(found.forward, expected.forward) < tolerance);
  CHECK(error_of_range(found.back, expected.back) < tolerance);
  CHECK(error_of_range(found.sensitivity, expected.sensitivity) < tolerance);
  CHECK(error_of_range(found.em, expected.em) < 2 * tolerance);
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.skipped == expected.tally.skipped);
  CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(settings.form == PsfForm::fft ? 1e-5 : 1e-6));
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
  CHECK(inner(results.forward, y) == approx(inner(x, results.back)).epsilon(1e-5));
}

namespace {

/// Every form of the point spread; where there is no cuFFT, those that need none.
std::vector<SpectSettings> spreads_on_gpu() {
  std::vector<SpectSettings> all = {
      {}, spread_settings(PsfForm::separable), spread_settings(PsfForm::incremental), table_settings(PsfForm::table)};
  const std::string reason = why_no_cufft();
  if (!reason.empty()) {
    MESSAGE("skipped: psf_form: fft: ", reason);
    return all;
  }
  all.push_back(spread_settings(PsfForm::fft));
  all.push_back(table_settings(PsfForm::fft));
  return all;
}

/// A GPU's results beside the CPU's, and A^T as the adjoint of A.
void check_beside_cpu(const Grid& grid, const ViewSet& set, const SpectSettings& settings) {
  const auto numbers = all_views_of(set);
  const auto gpu = make_rotation_projector(grid, set, settings, Backend::cuda);
  const GpuResults found = on_gpu_or_cpu(*gpu, set, numbers);
  const GpuResults cpu = on_gpu_or_cpu(*make_rotation_projector(grid, set, settings, Backend::cpu), set, numbers);
  const double tolerance = settings.form == PsfForm::fft ? 4e-6 : 2e-6;  // that of both
  CHECK(error_of_range(found.forward, cpu.forward) < tolerance);
  CHECK(error_of_range(found.back, cpu.back) < tolerance);
  CHECK(error_of_range(found.sensitivity, cpu.sensitivity) < tolerance);
  CHECK(error_of_range(found.em, cpu.em) < 2 * tolerance);
  if (settings.adjoint == AdjointKind::paper) return;
  const auto x = random_image(*gpu, 1), y = random_numbers(static_cast<std::int64_t>(found.forward.size()), 2);
  CHECK(inner(found.forward, y) == approx(inner(x, found.back)).epsilon(1e-5));
}

/// Calls visit(settings) for every beam, map, rotation and adjoint with a point spread.
template <class Visit>
void for_each_variant(const SpectSettings& spread, Visit&& visit) {
  for (const Beam beam : {Beam::parallel, Beam::fan, Beam::cone})
    for (const bool with_mu : {false, true})
      for (const Rotation rotation : {Rotation::interpolating, Rotation::conserving})
        for (const AdjointKind adjoint : {AdjointKind::exact, AdjointKind::paper}) {
          SpectSettings settings = spread;
          settings.beam = beam;
          if (beam != Beam::parallel) settings.focal_mm = 400;
          settings.rotation = rotation;
          settings.adjoint = adjoint;
          if (with_mu) {
            settings.mu_per_mm = mu_cylinder(0.015f, 40, {4, 2, 0});
            settings.counts_per_decay = 1e-4f;
          }
          CAPTURE(static_cast<int>(rotation));
          CAPTURE(static_cast<int>(adjoint));
          visit(settings);
        }
}

}  // namespace

TEST_CASE("SPECT on CUDA is the reference's and the CPU's: all beams, spreads, maps, rotations and adjoints") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(9, 7, 5, {4, 4, 4});
  const ViewSet set = circular_views(3, 11, 8);
  for (const SpectSettings& spread : spreads_on_gpu())
    for_each_variant(spread, [&](const SpectSettings& settings) {
      check_on_gpu(grid, set, settings);
      check_beside_cpu(grid, set, settings);
    });
}

TEST_CASE("SPECT on CUDA, all forms: two radii and heights, part of the views, views that come twice") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(12, 14, 8, {4, 4, 4});
  ViewSet set = circular_views(8, 16, 11);
  for (std::size_t v = 0; v < set.places.size(); ++v) {
    set.places[v].centre_w_mm = v % 4 < 2 ? 0 : 3;
    set.places[v].centre_u_mm = v % 3 == 0 ? -2.5f : 1;
    set.places[v].radius_mm = v % 2 == 0 ? 70 : 110;
  }
  for (SpectSettings settings : spreads_on_gpu()) {
    settings.mu_per_mm = mu_cylinder(0.015f, 40);
    for (const Rotation rotation : {Rotation::interpolating, Rotation::conserving}) {
      settings.beam = Beam::cone;
      settings.focal_mm = 400;
      settings.rotation = rotation;
      check_on_gpu(grid, set, settings);
      check_on_gpu(grid, set, settings, {6, 1, 3, 3});
    }
    settings.beam = Beam::parallel;
    check_on_gpu(grid, set, settings, {7, 2});
  }
}

TEST_CASE("SPECT on CUDA, all forms: voxels smaller and larger than pixels, long, thin, boxed and hidden images") {
  if (!gpu_or_skip()) return;
  for (const SpectSettings& spread : spreads_on_gpu()) {
    SpectSettings conserving = spread, cone = spread, boxed = spread, paper = spread;
    conserving.rotation = Rotation::conserving;
    cone.beam = Beam::cone;
    cone.focal_mm = 300;
    boxed.beam = Beam::cone;
    boxed.focal_mm = 300;
    boxed.box = true;
    paper.adjoint = AdjointKind::paper;
    check_on_gpu(Grid::centred(16, 15, 11, {1.3f, 1.7f, 1.5f}), circular_views(3, 9, 7), conserving);
    check_on_gpu(Grid::centred(7, 6, 5, {9, 7, 11}), circular_views(4, 16, 14), cone);
    check_on_gpu(Grid::centred(7, 6, 5, {9, 7, 11}), circular_views(4, 16, 14), conserving);
    check_on_gpu(Grid::centred(1, 9, 7, {4, 4, 4}), circular_views(5, 12, 8), boxed);
    check_on_gpu(Grid::centred(5, 5, 150, {4, 4, 4}), circular_views(2, 7, 150), paper);
    check_on_gpu(Grid::centred(4, 4, 140, {4, 4, 4}), circular_views(2, 6, 150), cone);
    check_on_gpu(Grid::centred(60, 6, 3, {4, 4, 4}), circular_views(3, 75, 5), conserving);
    check_on_gpu(Grid::centred(24, 24, 5, {4, 4, 4}), circular_views(3, 20, 7, 4, 40), paper);
    if (std::holds_alternative<KernelTable>(spread.psf)) continue;  // its kernels are of pixels
    check_on_gpu(Grid::centred(20, 21, 15, {2.1f, 2.1f, 1.5f}), circular_views(3, 12, 7), cone);
    check_on_gpu(Grid::centred(20, 21, 15, {2.1f, 2.1f, 2.1f}), circular_views(3, 12, 9), paper);
  }
}

TEST_CASE("SPECT on CUDA: kernel tables of one to many pixels, by direct summation and in Fourier space") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(10, 9, 40, {4, 4, 4});
  const ViewSet set = circular_views(2, 36, 42);
  constexpr int sizes[][2] = {{1, 1}, {7, 5}, {3, 21}, {5, 13}, {9, 15}, {33, 35}};
  for (const auto& size : sizes)
    for (const PsfForm form : {PsfForm::table, PsfForm::fft})
      for (const AdjointKind adjoint : {AdjointKind::exact, AdjointKind::paper}) {
        if (form == PsfForm::fft && !why_no_cufft().empty()) continue;
        const KernelTable table{size[0], size[1], {20, 180}, random_numbers(2 * size[0] * size[1], 9)};
        CAPTURE(size[0]);
        check_on_gpu(grid, set, {.psf = table, .form = form, .adjoint = adjoint});
      }
}

TEST_CASE("SPECT on CUDA in Fourier space makes no negative numbers of an image without any") {
  if (!gpu_or_skip() || !why_no_cufft().empty()) return;
  const Grid grid = Grid::centred(32, 32, 24, {4, 4, 4});
  const ViewSet set = circular_views(12, 40, 30);
  const auto gpu = make_rotation_projector(grid, set, spread_settings(PsfForm::fft), Backend::cuda);
  const ViewBatch batch = view_batch(set).to(Memory::device);
  const Buffer<float> image = Buffer<float>::from(blob_image(grid, {20, 8, -4}, 4)).to(Memory::device);
  Buffer<float> expectation(Memory::device, batch.count);
  gpu->forward(batch.view(), image.data(), expectation.data());
  auto sum = Buffer<float>::zeros(Memory::device, grid.voxels());
  gpu->back(batch.view(), expectation.data(), sum.data());
  for (const auto& numbers : {expectation.to_vector(), sum.to_vector()})
    CHECK(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x) && x >= 0; }));
}

TEST_CASE("SPECT on CUDA: a table too large for direct summation is refused in one line") {
  if (!gpu_or_skip()) return;
  const int edge = 401;
  const SpectSettings settings{.psf = KernelTable{edge, edge, {20}, std::vector<float>(edge * edge, 1e-6f)},
                               .form = PsfForm::table};
  CHECK_THROWS_WITH(
      make_rotation_projector(Grid::centred(8, 8, 8, {4, 4, 4}), circular_views(2, 8, 8), settings, Backend::cuda),
      "a kernel table of 401 x 401 pixels is too large for direct summation on a GPU: take psf_form: fft");
}
// SPDX-License-Identifier: Apache-2.0
