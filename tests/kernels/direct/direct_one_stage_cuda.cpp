// All forms of one_stage on CUDA against the CPU and the reference in double precision, which cuts kernels alike: every
// kernel, tilts, odd and even sizes, more rows than a thread of `ilp` has, views in part and twice.
#include "kernels/direct/direct_cuda_backends.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct NamedForm {
  std::string name;
  OneStageForm form;
};
const NamedForm one_stage_forms[] = {
    {"automatic", OneStageForm::automatic}, {"tlp", OneStageForm::tlp}, {"ilp", OneStageForm::ilp}};

struct OneStageResults {
  std::vector<float> forward, back, em, sensitivity;
  EmTally tally;
};

/// Back projections are added to zeros, for the reference's sake.
OneStageResults one_stage_results(ViewProjector& projector, const ViewBatch& host, const std::vector<float>& image,
                                  const std::vector<float>& values) {
  const Memory memory = memory_of(projector.backend());
  const ViewBatch batch = host.to(memory);
  const Buffer<float> image_there = Buffer<float>::from(image).to(memory);
  const Buffer<float> values_there = Buffer<float>::from(values).to(memory);
  OneStageResults results;
  Buffer<float> expectation(memory, batch.count);
  projector.forward(batch.view(), image_there.data(), expectation.data());
  results.forward = expectation.to_vector();
  const auto sum_of = [&](auto&& add) {
    auto sum = Buffer<float>::zeros(memory, projector.grid().voxels());
    add(sum.data());
    return sum.to_vector();
  };
  results.back = sum_of([&](float* sum) { projector.back(batch.view(), values_there.data(), sum); });
  results.em = sum_of([&](float* sum) { results.tally = projector.em_step(batch.view(), image_there.data(), sum); });
  results.sensitivity = sum_of([&](float* sum) { projector.add_sensitivity(batch.view(), sum); });
  return results;
}

std::vector<float> floats_of(const std::vector<double>& values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

void check_one_stage_forms(const Grid& grid, const DirectViews& views, const DirectKernel& kernel,
                           const std::vector<int>& numbers) {
  const DirectCase here(grid, views, kernel, DirectOperator::one_stage, HistoLattice::image);
  ViewBatch batch = view_batch(here.set, numbers);
  batch.multiplicative = Buffer<float>::from(random_numbers(batch.count, 4, 0.5f, 1.5f));
  batch.additive = Buffer<float>::from(random_numbers(batch.count, 5, 0.5f, 1));
  set_counts(batch, random_numbers(batch.count, 3, 0, 40));
  const auto image = random_numbers(grid.voxels(), 1, 0.2f, 1), values = random_numbers(batch.count, 2);
  const DirectReference reference = here.reference(ReferenceCut::ellipsoid);
  const auto forward = floats_of(reference.forward(batch.view(), wide(image)));
  const auto back = floats_of(reference.back(batch.view(), wide(values)));
  const OneStageResults expected = one_stage_results(*here.projector(), batch, image, values);
  for (const NamedForm& one : one_stage_forms) {
    CAPTURE(one.name);
    const auto projector = make_one_stage_cuda(grid, here.set, here.settings, one.form);
    const OneStageResults found = one_stage_results(*projector, batch, image, values);
    CHECK(rms_of_range(found.forward, forward) < 1e-6);
    CHECK(rms_of_range(found.back, back) < 1e-6);
    CHECK(rms_of_range(found.forward, expected.forward) < 1e-6);
    CHECK(rms_of_range(found.back, expected.back) < 1e-6);
    CHECK(rms_of_range(found.sensitivity, expected.sensitivity) < 1e-6);
    CHECK(rms_of_range(found.em, expected.em) < 2e-6);
    CHECK(found.tally.used == expected.tally.used);
    CHECK(found.tally.skipped == expected.tally.skipped);
    CHECK(std::abs(inner(found.forward, values) / inner(image, found.back) - 1) < 1e-5);
    const OneStageResults again = one_stage_results(*projector, batch, image, values);
    CHECK(same_bits(again.forward, found.forward));
    CHECK(same_bits(again.back, found.back));
    CHECK(same_bits(again.em, found.em));
  }
}

}  // namespace

TEST_CASE("one_stage on CUDA, automatic and as published: every kernel and tilt, odd and even sizes, views in part") {
  if (!gpu_or_skip()) return;
  for (const Grid& grid : {Grid::centred(16, 16, 8, {4, 4, 4}), Grid::centred(15, 13, 9, {4, 5, 4.5f}),
                           Grid::centred(9, 8, 35, {4, 4, 4})})
    for (const NamedKernel& one : direct_kernels(12))
      for (const DirectViews& views : {DirectViews{.azimuths = 5, .tilts = 3, .acceptance_deg = 10},
                                       DirectViews{.azimuths = 3, .tilts = 2, .acceptance_deg = 45}}) {
        CAPTURE(one.name);
        CAPTURE(grid.size[2]);
        CAPTURE(views.tilts);
        check_one_stage_forms(grid, views, one.kernel, {0, 2, 5});
        check_one_stage_forms(grid, views, one.kernel, {4, 1, 1});
      }
}

TEST_CASE("one_stage on CUDA: one view after the other, added to an image that is not empty, as RAMLA takes them") {
  if (!gpu_or_skip()) return;
  for (const Grid& grid : {Grid::centred(16, 12, 35, {4, 4, 4}), Grid::centred(15, 13, 9, {4, 5, 4.5f})})
    for (const NamedKernel& one : direct_kernels(12)) {
      CAPTURE(one.name);
      CAPTURE(grid.size[0]);
      const DirectCase here(grid, {.azimuths = 5, .tilts = 3, .acceptance_deg = 10}, one.kernel,
                            DirectOperator::one_stage, HistoLattice::image);
      const auto found_by = make_one_stage_cuda(grid, here.set, here.settings, OneStageForm::automatic);
      const auto expected_by = here.projector();
      const std::vector<float> image = random_numbers(grid.voxels(), 1, 0.2f, 1);
      const auto sum_by = [&](ViewProjector& projector) {
        const Memory memory = memory_of(projector.backend());
        const Buffer<float> image_there = Buffer<float>::from(image).to(memory);
        Buffer<float> sum = Buffer<float>::from(image).to(memory);
        for (const int view : {0, 4, 7, 14}) {  // along x and along y, tilted and not
          ViewBatch batch = view_batch(here.set, {view});
          set_counts(batch, random_numbers(batch.count, 3, 0, 40));
          const ViewBatch there = batch.to(memory);
          projector.em_step(there.view(), image_there.data(), sum.data());
        }
        return sum.to_vector();
      };
      const std::vector<float> found = sum_by(*found_by);
      CHECK(rms_of_range(found, sum_by(*expected_by)) < 2e-6);
      CHECK(same_bits(found, sum_by(*found_by)));
    }
}

TEST_CASE("one_stage on CUDA as published: ones where no values are given") {
  if (!gpu_or_skip()) return;
  const DirectCase here(Grid::centred(11, 10, 18, {4, 4, 4}), {.azimuths = 3, .tilts = 3, .acceptance_deg = 12},
                        direct_kernels(12).back().kernel, DirectOperator::one_stage, HistoLattice::image);
  const ViewBatch batch = view_batch(here.set, {0, 4, 8}).to(Memory::device);
  const auto ones = Buffer<float>::from(std::vector<float>(static_cast<std::size_t>(batch.count), 1));
  const auto ones_there = ones.to(Memory::device);
  for (const NamedForm& one : one_stage_forms) {
    CAPTURE(one.name);
    const auto projector = make_one_stage_cuda(here.grid, here.set, here.settings, one.form);
    const auto back = [&](const float* values) {
      auto sum = Buffer<float>::zeros(Memory::device, here.grid.voxels());
      projector->back(batch.view(), values, sum.data());
      return sum.to_vector();
    };
    CHECK(same_bits(back(nullptr), back(ones_there.data())));
  }
}
// SPDX-License-Identifier: Apache-2.0
