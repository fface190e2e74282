// EM with views: the likelihood rises, counts are kept, subsets' sensitivities add up to that of all views, and books
// balance.
#include "tests/kernels/spect/spect_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

std::vector<float> sensitivity_of(ViewProjector& projector, const ViewBatch& batch) {
  std::vector<float> image(static_cast<std::size_t>(projector.grid().voxels()), 0.0f);
  projector.add_sensitivity(batch.view(), image.data());
  return image;
}

/// One update; returns its tally.
EmTally update_once(ViewProjector& projector, const ViewBatch& batch, const std::vector<float>& sensitivity,
                    std::vector<float>& image) {
  std::vector<float> sum(image.size(), 0.0f);
  const EmTally tally = projector.em_step(batch.view(), image.data(), sum.data());
  for (std::size_t v = 0; v < image.size(); ++v)
    if (sensitivity[v] > 0) image[v] *= sum[v] / sensitivity[v];
  return tally;
}

struct EmCase {
  Grid grid = Grid::centred(14, 14, 6, {4, 4, 4});
  ViewSet set = circular_views(20, 16, 8);
  std::unique_ptr<ViewProjector> projector =
      make_rotation_projector(grid, set, spread_settings(PsfForm::separable), Backend::cpu);

  ViewBatch measured(const std::vector<int>& numbers) const {
    ViewBatch batch = view_batch(set, numbers);
    for (std::int64_t r = 0; r < batch.index.size(); ++r) batch.weight[r] = 1 + 0.1f * static_cast<float>(r % 3);
    batch.multiplicative = Buffer<float>::from(random_numbers(batch.count, 8, 0.5f, 1.5f));
    std::vector<float> counts = forward_of(*projector, batch, random_image(*projector, 6));
    const auto noise = random_numbers(batch.count, 7, 0.5f, 1.5f);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] *= 100 * noise[i];
    set_counts(batch, counts);
    return batch;
  }
};

std::vector<int> all_views(int views) {
  std::vector<int> numbers;
  for (int v = 0; v < views; ++v) numbers.push_back(v);
  return numbers;
}

}  // namespace

TEST_CASE("The likelihood of views does not fall, and each update keeps their counts") {
  EmCase em;
  const ViewBatch batch = em.measured(all_views(20));
  const auto sensitivity = sensitivity_of(*em.projector, batch);
  std::vector<float> image(sensitivity.size(), 1.0f);
  double before = -1e300;
  for (int n = 0; n < 12; ++n) {
    const double expected = inner(sensitivity, image);
    const EmTally tally = update_once(*em.projector, batch, sensitivity, image);
    CHECK(tally.log_sum - expected > before - 1e-6 * std::abs(before));
    before = tally.log_sum - expected;
    CHECK(tally.skipped == 0);
    CHECK(tally.used == static_cast<std::int64_t>(batch.event_count()));
    CHECK(inner(sensitivity, image) == approx(sum_of(batch.counts.to_vector())).epsilon(1e-5));
  }
}

TEST_CASE("Sensitivities of uneven subsets add up to that of all views; what no view sees stays as it is") {
  EmCase em;
  const auto whole = sensitivity_of(*em.projector, view_batch(em.set));
  std::vector<float> sum(whole.size(), 0.0f);
  for (int subset = 0; subset < 3; ++subset) {  // 7, 7 and 6 views
    std::vector<int> numbers;
    for (int v = subset; v < 20; v += 3) numbers.push_back(v);
    em.projector->add_sensitivity(view_batch(em.set, numbers).view(), sum.data());
  }
  CHECK(error_of_range(sum, whole) < 1e-6);

  const Image support = em.projector->support();
  for (std::int64_t v = 0; v < support.voxels.size(); ++v)
    CHECK((whole[static_cast<std::size_t>(v)] > 0) == (support.voxels[v] > 0));
  const ViewBatch batch = em.measured({0, 5});
  std::vector<float> image(whole.size(), 3.0f);
  update_once(*em.projector, batch, sensitivity_of(*em.projector, batch), image);
  CHECK(image[0] == 3);
}

TEST_CASE("A view of twice the time counts as two views; an additive term is expected without the image") {
  EmCase em;
  ViewBatch one = em.measured({3}), two = em.measured({3, 3});
  for (std::int64_t i = 0; i < one.count; ++i) {
    two.counts[i] = two.counts[one.count + i] = 0.5f * one.counts[i];
    two.multiplicative[i] = two.multiplicative[one.count + i] = one.multiplicative[i];
  }
  two.weight[0] = two.weight[1] = 0.5f * one.weight[0];
  one.additive = Buffer<float>::from(random_numbers(one.count, 3, 1, 2));
  two.additive = Buffer<float>(Memory::host, two.count);
  for (std::int64_t i = 0; i < one.count; ++i) two.additive[i] = two.additive[one.count + i] = 0.5f * one.additive[i];
  const auto image = random_image(*em.projector, 9);
  std::vector<float> a(image.size(), 0.0f), b(image.size(), 0.0f);
  em.projector->em_step(one.view(), image.data(), a.data());
  em.projector->em_step(two.view(), image.data(), b.data());
  CHECK(error_of_range(b, a) < 1e-6);
}

TEST_CASE("A voxel's sensitivity is counts per decay x its volume in mL x the seconds of all views") {
  ViewSet set = circular_views(60, 24, 16);
  double seconds = 0;
  for (std::size_t v = 0; v < set.places.size(); ++v)
    seconds += set.places[v].duration_s = 5 + static_cast<double>(v % 2);
  const ViewBatch batch = view_batch(set);  // weights are the views' seconds
  constexpr float counts_per_decay = 1e-4f;
  for (const Vec3 voxel_mm : {Vec3{4, 4, 4}, Vec3{6, 6, 4}, Vec3{3, 3, 8}, Vec3{5, 5, 2}}) {
    CAPTURE(voxel_mm.x);
    const Grid grid = grid_about(
        {static_cast<int>(80 / voxel_mm.x), static_cast<int>(80 / voxel_mm.y), static_cast<int>(48 / voxel_mm.z)},
        voxel_mm, {});
    SpectSettings settings = spread_settings(PsfForm::separable);
    settings.counts_per_decay = counts_per_decay;
    const auto projector = make_rotation_projector(grid, set, settings, Backend::cpu);
    const auto sensitivity = sensitivity_of(*projector, batch);
    double sum = 0;
    int voxels = 0;
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j)
        for (int i = 0; i < grid.size[0]; ++i) {
          const Vec3 at = grid.centre(i, j, k);
          if (std::hypot(at.x, at.y) > 20 || std::abs(at.z) > 8) continue;
          sum += static_cast<double>(sensitivity[static_cast<std::size_t>(grid.index(i, j, k))]);
          ++voxels;
        }
    const double voxel_mL = static_cast<double>(grid.voxel_volume()) * mL_per_mm3;
    CHECK(sum / voxels == approx(static_cast<double>(counts_per_decay) * voxel_mL * seconds).epsilon(2e-3));
  }
}

TEST_CASE("Books balance where a pixel has counts and no expectation") {
  EmCase em;
  ViewBatch batch = em.measured({2, 9});
  batch.multiplicative[40] = 0;
  auto counts = batch.counts.to_vector();
  counts[40] = 2.7f;
  set_counts(batch, counts);
  std::vector<float> sum(static_cast<std::size_t>(em.grid.voxels()), 0.0f);
  const auto image = random_image(*em.projector, 9);
  const EmTally tally = em.projector->em_step(batch.view(), image.data(), sum.data());
  CHECK(tally.skipped == 3);
  CHECK(tally.used + tally.skipped == static_cast<std::int64_t>(batch.event_count()));
  for (const float value : sum) CHECK(std::isfinite(value));
}
// SPDX-License-Identifier: Apache-2.0
