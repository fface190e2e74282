// Two iterations of OSEM and of block RAMLA from the same histo-images, by each operator and in double precision by the
// reference, on the CPU and on CUDA; and RAMLA's way to the truth.
#include <functional>

#include "kernels/device/cufft_library.hpp"
#include "kernels/em/em_update.hpp"
#include "kernels/em/ramla_update.hpp"
#include "tests/kernels/direct/direct_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

enum class DirectUpdate { osem, ramla };

constexpr int direct_iterations = 2;
constexpr double direct_relaxation = 0.9;

/// Subsets of some views each, with efficiencies, randoms and counts that no image explains wholly.
std::vector<ViewBatch> direct_subsets(const DirectCase& here, DirectUpdate update) {
  const int views = here.views.count(), count = update == DirectUpdate::ramla ? views : 3;
  std::vector<ViewBatch> subsets;
  for (int subset = 0; subset < count; ++subset) {
    std::vector<int> numbers;
    for (int v = subset; v < views; v += count) numbers.push_back(v);
    ViewBatch batch = view_batch(here.set, numbers);
    batch.multiplicative = Buffer<float>::from(random_numbers(batch.count, 40 + subset, 0.5f, 1.5f));
    batch.additive = Buffer<float>::from(random_numbers(batch.count, 70 + subset, 0.5f, 1));
    set_counts(batch, random_numbers(batch.count, 10 + subset, 0, 4));
    subsets.push_back(std::move(batch));
  }
  return subsets;
}

std::vector<float> iterated(ViewProjector& projector, const std::vector<ViewBatch>& host, DirectUpdate update) {
  const Memory memory = memory_of(projector.backend());
  Image estimate = Image::filled(projector.grid(), 1, memory);
  for (int iteration = 0; iteration < direct_iterations; ++iteration)
    for (const ViewBatch& subset : host) {
      const ViewBatch batch = subset.to(memory);
      Image sensitivity = Image::zeros(projector.grid(), memory), sum = Image::zeros(projector.grid(), memory);
      projector.add_sensitivity(batch.view(), sensitivity.voxels.data());
      projector.em_step(batch.view(), estimate.voxels.data(), sum.voxels.data());
      const Image inverse = inverse_sensitivity(sensitivity);
      if (update == DirectUpdate::osem)
        em_update(estimate, inverse, sum, 1);
      else
        ramla_update(estimate, {sensitivity, inverse, sum, largest_sensitivity(sensitivity)}, direct_relaxation);
    }
  return estimate.voxels.to_vector();
}

std::vector<double> iterated_in_double(const DirectReference& reference, const std::vector<ViewBatch>& subsets,
                                       DirectUpdate update) {
  std::vector<double> x(static_cast<std::size_t>(reference.grid().voxels()), 1);
  std::vector<std::vector<double>> sensitivities;
  for (const ViewBatch& batch : subsets)
    sensitivities.push_back(reference.back(batch.view(), wide(batch.multiplicative.to_vector())));
  for (int iteration = 0; iteration < direct_iterations; ++iteration)
    for (std::size_t subset = 0; subset < subsets.size(); ++subset) {
      const ViewBatch& batch = subsets[subset];
      const std::vector<double> m = wide(batch.multiplicative.to_vector());
      std::vector<double> ratio = reference.forward(batch.view(), x);
      for (std::size_t i = 0; i < ratio.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        ratio[i] = m[i] * double{batch.counts[at]} / (m[i] * ratio[i] + double{batch.additive[at]});
      }
      const std::vector<double>& s = sensitivities[subset];
      const std::vector<double> sum = reference.back(batch.view(), ratio);
      const double step = direct_relaxation / *std::ranges::max_element(s);
      for (std::size_t j = 0; j < x.size(); ++j)
        x[j] = update == DirectUpdate::osem ? x[j] * sum[j] / s[j] : x[j] + step * x[j] * (sum[j] - s[j]);
    }
  return x;
}

double nrms_of(const std::vector<float>& found, const std::vector<double>& expected) {
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    apart += std::pow(double{found[i]} - expected[i], 2);
    all += expected[i] * expected[i];
  }
  return std::sqrt(apart / all);
}

const Grid direct_iterated_grid = Grid::centred(8, 7, 5, {4, 4, 4});
constexpr DirectViews direct_iterated_views{.azimuths = 3, .tilts = 3, .acceptance_deg = 10};

/// Calls visit for each kernel, operator and update.
void for_each_iterated(const std::function<void(const DirectCase&, DirectUpdate)>& visit) {
  for (NamedKernel one : direct_kernels(9))
    for (const DirectMethod& method : direct_methods(one.kernel))
      for (const DirectUpdate update : {DirectUpdate::osem, DirectUpdate::ramla}) {
        CAPTURE(one.name);
        CAPTURE(method.name);
        CAPTURE(update == DirectUpdate::ramla);
        // What is exact needs few points; what approximates the kernel is compared with more of it.
        one.kernel.cut_sigma = method.method == DirectOperator::two_stage ? 4 : 3;
        visit({direct_iterated_grid, direct_iterated_views, one.kernel, method.method, method.lattice}, update);
      }
}

}  // namespace

TEST_CASE("Two iterations of OSEM and RAMLA by one_stage and fft are the direct reference's, to 1e-5") {
  for_each_iterated([](const DirectCase& here, DirectUpdate update) {
    if (here.settings.method == DirectOperator::two_stage) return;  // which approximates the kernel
    const std::vector<ViewBatch> subsets = direct_subsets(here, update);
    const auto expected = iterated_in_double(here.reference(ReferenceCut::ellipsoid), subsets, update);
    CHECK(nrms_of(iterated(*here.projector(), subsets, update), expected) < 1e-5);
  });
}

TEST_CASE("Two iterations of OSEM and RAMLA by two_stage are within what it approximates of the direct reference's") {
  for_each_iterated([](const DirectCase& here, DirectUpdate update) {
    const DirectKernel& kernel = here.settings.kernel;
    if (here.settings.method != DirectOperator::two_stage || kernel.is_symmetric() || kernel.is_invariant()) return;
    const std::vector<ViewBatch> subsets = direct_subsets(here, update);
    const auto expected = iterated_in_double(here.reference(ReferenceCut::ellipsoid), subsets, update);
    CHECK(nrms_of(iterated(*here.projector(), subsets, update), expected) < 2e-3);
  });
}

TEST_CASE("Two iterations of OSEM and RAMLA on CUDA are the CPU's and the direct reference's, to 1e-5") {
  if (!gpu_or_skip()) return;
  for_each_iterated([](const DirectCase& here, DirectUpdate update) {
    if (here.settings.method == DirectOperator::fft && !why_no_cufft().empty()) return;
    const std::vector<ViewBatch> subsets = direct_subsets(here, update);
    const auto gpu = make_direct_projector(here.grid, here.set, here.settings, Backend::cuda);
    const std::vector<float> found = iterated(*gpu, subsets, update);
    CHECK(nrms_of(found, wide(iterated(*here.projector(), subsets, update))) < 1e-5);
    if (here.settings.method == DirectOperator::two_stage) return;
    CHECK(nrms_of(found, iterated_in_double(here.reference(ReferenceCut::ellipsoid), subsets, update)) < 1e-5);
  });
}

TEST_CASE("Block RAMLA, a view a block, comes nearer to the truth from direct data without noise, by each operator") {
  const Grid grid = Grid::centred(20, 20, 9, {4, 4, 4});
  Image truth = Image::zeros(grid);
  for (int k = 1; k < 8; ++k)
    for (int j = 3; j < 17; ++j)
      for (int i = 3; i < 17; ++i) truth.voxels[grid.index(i, j, k)] = i > 11 && j < 9 ? 300.0f : 100.0f;
  for (const DirectMethod& method : direct_methods(plain_kernel(10))) {
    CAPTURE(method.name);
    const DirectCase here(grid, {.azimuths = 6, .tilts = 3}, plain_kernel(10), method.method, method.lattice);
    const auto projector = here.projector();
    Image estimate = Image::filled(grid, 50);
    const auto distance = [&] {
      double sum = 0;
      for (std::int64_t v = 0; v < grid.voxels(); ++v)
        sum += std::pow(double{estimate.voxels[v]} - double{truth.voxels[v]}, 2);
      return sum;
    };
    const double at_first = distance();
    double before = at_first;
    for (int iteration = 0; iteration < 4; ++iteration) {
      for (int place = 0; place < here.views.count(); ++place) {
        const int view = 7 * place % here.views.count();
        ViewBatch batch = view_batch(here.set, {view});
        set_counts(batch, direct_forward(*projector, batch, truth.voxels.to_vector()));
        Image sensitivity = Image::zeros(grid), sum = Image::zeros(grid);
        projector->add_sensitivity(batch.view(), sensitivity.voxels.data());
        projector->em_step(batch.view(), estimate.voxels.data(), sum.voxels.data());
        ramla_update(estimate, {sensitivity, inverse_sensitivity(sensitivity), sum, largest_sensitivity(sensitivity)},
                     1);
      }
      CHECK(distance() < before);
      before = distance();
      CHECK(*std::ranges::min_element(estimate.voxels.span()) >= 0);
    }
    CHECK(before < 0.1 * at_first);
  }
}
// SPDX-License-Identifier: Apache-2.0
