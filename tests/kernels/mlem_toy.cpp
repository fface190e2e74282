// List-mode MLEM (Cui et al. 2011, eq. 1) on a toy scanner: for every projector, on CPU and CUDA, the likelihood never
// falls and counts are preserved; with the TOR a point is reconstructed in its place, and ToF converges faster than
// non-ToF.
#include <random>

#include "kernels/blob/blob.hpp"
#include "kernels/project/list_mode_projector.hpp"
#include "kernels/ring/blob/blob_projector.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid toy_grid = Grid::centred(22, 22, 1, {4, 4, 4});
constexpr TofModel tof{12, 4};
constexpr int detectors = 64;
constexpr float radius_mm = 100;

Vec3 detector(int index) {
  const float angle = static_cast<float>(index) * (2 * 3.14159265f / detectors);
  return {radius_mm * std::cos(angle), radius_mm * std::sin(angle), 0};
}

bool in_coincidence(int i, int j) {
  const int apart = std::abs(i - j);
  return std::min(apart, detectors - apart) >= detectors / 4;
}

/// Every LOR of the ring once, without ToF: sensitivity is A^T 1 over them.
std::vector<Lor> all_lors() {
  std::vector<Lor> lors;
  for (int i = 0; i < detectors; ++i)
    for (int j = 0; j < i; ++j)
      if (in_coincidence(i, j)) lors.push_back({detector(i), detector(j), 0});
  return lors;
}

/// `count` events of activity spread by `sample` in the plane z = 0. Each is in the LOR nearest to it among those with
/// a random first detector, with ToF blurred and binned.
template <class Sample>
EventBatch measure(int count, unsigned seed, Sample&& sample) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> any(0, detectors - 1);
  std::normal_distribution<float> blur(0, tof.sigma_mm);
  std::vector<Lor> lors;
  while (static_cast<int>(lors.size()) < count) {
    const Vec3 source = sample(engine);
    const int first = any(engine);
    const Vec3 end1 = detector(first);
    int best = -1;
    float nearest = 4;  // mm: other first detectors see the source better
    for (int second = 0; second < detectors; ++second) {
      if (!in_coincidence(first, second)) continue;
      const Vec3 along = detector(second) - end1, offset = source - end1;
      const float distance = std::abs(along.x * offset.y - along.y * offset.x) / norm(along);
      if (distance < nearest) {
        nearest = distance;
        best = second;
      }
    }
    if (best < 0) continue;
    const Vec3 end2 = detector(best), along = end2 - end1;
    const float u = dot(source - 0.5f * (end1 + end2), (1 / norm(along)) * along) + blur(engine);
    lors.push_back({end1, end2, std::round(u / tof.bin_width_mm) * tof.bin_width_mm});
  }
  return batch_of(lors, tof);
}

struct Mlem {
  Image estimate, sensitivity;
  std::vector<double> log_likelihood, counts;  // at the start of, and after each update
};

/// A^T 1 over every LOR of the ring.
Image ring_sensitivity(ListModeProjector& projector) {
  const Memory memory = memory_of(projector.backend());
  Image sum = Image::zeros(projector.grid(), memory);
  const EventBatch lors = batch_of(all_lors()).to(memory);
  projector.back(lors.view(), nullptr, sum.voxels.data());
  Image here = sum.to(Memory::host);
  synchronize(nullptr);
  return here;
}

Mlem reconstruct(ListModeProjector& projector, const EventBatch& events, Image sensitivity, int iterations) {
  const Memory memory = memory_of(projector.backend());
  const EventBatch there = events.to(memory);
  Mlem run{Image::filled(projector.grid(), 1), std::move(sensitivity), {}, {}};
  const auto x = run.estimate.voxels.span(), s = run.sensitivity.voxels.span();
  const auto total = [&] { return std::inner_product(x.begin(), x.end(), s.begin(), 0.0); };
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const Image estimate_there = run.estimate.to(memory);
    Image sum = Image::zeros(projector.grid(), memory);
    const EmTally tally = projector.em_step(there.view(), estimate_there.voxels.data(), sum.voxels.data());
    REQUIRE(tally.skipped == 0);
    const Image ratio = sum.to(Memory::host);
    synchronize(nullptr);
    run.log_likelihood.push_back(tally.log_sum - total());
    for (std::size_t v = 0; v < x.size(); ++v) x[v] = s[v] > 0 ? x[v] * ratio.voxels.span()[v] / s[v] : 0;
    run.counts.push_back(total());
  }
  return run;
}

Mlem reconstruct(ListModeProjector& projector, const EventBatch& events, int iterations) {
  return reconstruct(projector, events, ring_sensitivity(projector), iterations);
}

/// Two discs, 24 and 8 mm in radius, the smaller four times as hot.
Vec3 two_discs(std::mt19937& engine) {
  std::uniform_real_distribution<float> unit(0, 1);
  const bool hot = unit(engine) < 4 * 64.0f / (4 * 64 + 576);
  const float r = (hot ? 8 : 24) * std::sqrt(unit(engine)), angle = 6.2831853f * unit(engine);
  return {(hot ? 22.0f : -12.0f) + r * std::cos(angle), (hot ? 20.0f : -8.0f) + r * std::sin(angle), 0};
}

Vec3 point_source(std::mt19937&) {
  return {26, -14, 0};
}

Vec3 centroid(const Image& image) {
  double sum = 0;
  Vec3d weighted;
  for (int k = 0; k < toy_grid.size[2]; ++k)
    for (int j = 0; j < toy_grid.size[1]; ++j)
      for (int i = 0; i < toy_grid.size[0]; ++i) {
        const double value = image.voxels[toy_grid.index(i, j, k)];
        weighted = weighted + value * toy_grid.centre(i, j, k).as<double>();
        sum += value;
      }
  return ((1 / sum) * weighted).as<float>();
}

std::unique_ptr<ListModeProjector> tor(Backend backend = Backend::cpu, CudaPath path = CudaPath::automatic) {
  return make_tor_projector(toy_grid, {.response = RadialResponse::gaussian(6, 8), .cuda_path = path}, backend);
}

std::unique_ptr<ListModeProjector> joseph(Backend backend, CudaPath path = CudaPath::automatic) {
  return make_joseph_projector(toy_grid, {.cuda_path = path}, backend);
}

std::unique_ptr<ListModeProjector> blobs(Backend backend, CudaPath path = CudaPath::automatic) {
  Grid lattices = toy_grid;
  lattices.blob = {uniform_blob_radius_mm(4, 8.3689f), 8.3689f};
  return make_blob_projector(lattices, {.cuda_path = path}, backend);
}

void check_run(const Mlem& run, double events) {
  for (std::size_t k = 1; k < run.log_likelihood.size(); ++k)
    CHECK(run.log_likelihood[k] >= run.log_likelihood[k - 1] - 1e-7 * std::abs(run.log_likelihood[k]));
  CHECK(run.log_likelihood.back() > run.log_likelihood.front());
  for (const double counts : run.counts) CHECK(counts == approx(events).epsilon(1e-5));
  for (const float value : run.estimate.voxels.span()) REQUIRE(value >= 0);
}

void check_likelihood_and_counts(ListModeProjector& projector) {
  for (const bool with_tof : {true, false}) {
    EventBatch events = measure(20000, 1, two_discs);
    if (!with_tof) events.tof_mm = {};
    check_run(reconstruct(projector, events, 25), 20000);
  }
}

/// Two strips are not a ring: their sensitivity has a closed form, and their events end on the strips.
void check_strips(Backend backend) {
  const Grid pixels = Grid::centred(1, 65, 75, {4, 4, 4});
  for (const StripForm form : {StripForm::gaussian, StripForm::eq7, StripForm::full}) {
    CAPTURE(static_cast<int>(form));
    const StripSettings settings{.form = form};
    const auto responses = simulated(settings, 2000, 3, [](std::mt19937_64& generator) {
      std::uniform_real_distribution<double> spread(-25, 25);
      return std::array<double, 2>{spread(generator), 20 + spread(generator)};
    });
    const auto projector = make_strip_projector(pixels, settings, backend);
    check_run(
        reconstruct(*projector, strip_batch(settings.geometry, responses), *projector->closed_form_sensitivity(), 12),
        2000);
  }
}

void check_point(ListModeProjector& projector) {
  for (const bool with_tof : {true, false}) {
    EventBatch events = measure(5000, 2, point_source);
    if (!with_tof) events.tof_mm = {};
    const Vec3 where = centroid(reconstruct(projector, events, with_tof ? 5 : 40).estimate);
    CHECK(std::abs(where.x - 26) < 2);
    CHECK(std::abs(where.y + 14) < 2);
  }
}

/// The true image: samples of the activity counted in voxels, with an estimate's scale.
std::vector<double> truth(const Image& sensitivity) {
  std::vector<double> counts(static_cast<std::size_t>(toy_grid.voxels()), 0.0);
  std::mt19937 engine(99);
  for (int i = 0; i < 400000; ++i) {
    const Vec3 p = two_discs(engine);
    const auto index = [&](int axis) {
      return static_cast<int>(std::lround((p[axis] - toy_grid.origin_mm[axis]) / toy_grid.voxel_mm[axis]));
    };
    ++counts[static_cast<std::size_t>(toy_grid.index(index(0), index(1), 0))];
  }
  double weighted = 0;
  for (std::size_t v = 0; v < counts.size(); ++v) weighted += counts[v] * sensitivity.voxels.span()[v];
  for (double& value : counts) value *= 20000 / weighted;
  return counts;
}

double distance(const Image& image, const std::vector<double>& from) {
  double sum = 0;
  for (std::size_t v = 0; v < from.size(); ++v) sum += std::pow(image.voxels.span()[v] - from[v], 2);
  return std::sqrt(sum);
}

void check_convergence(ListModeProjector& projector) {
  EventBatch events = measure(20000, 1, two_discs);
  EventBatch without_tof = events;
  without_tof.tof_mm = {};
  for (const int iterations : {1, 3}) {
    const Mlem with = reconstruct(projector, events, iterations);
    const Mlem without = reconstruct(projector, without_tof, iterations);
    const auto expected = truth(with.sensitivity);
    CHECK(distance(with.estimate, expected) < 0.9 * distance(without.estimate, expected));
  }
}

}  // namespace

TEST_CASE("MLEM with the TOR projector: the likelihood never falls and counts are preserved") {
  check_likelihood_and_counts(*tor());
}

TEST_CASE("MLEM with Joseph's projector: the likelihood never falls and counts are preserved") {
  check_likelihood_and_counts(*joseph(Backend::cpu));
}

TEST_CASE("MLEM with blobs: the likelihood never falls and counts are preserved") {
  check_likelihood_and_counts(*blobs(Backend::cpu));
}

TEST_CASE("MLEM of two strips: the likelihood never falls and counts are preserved") {
  check_strips(Backend::cpu);
}

TEST_CASE("MLEM on CUDA, by tiles and without: the likelihood never falls and counts are preserved") {
  if (!gpu_or_skip()) return;
  for (const CudaPath path : {CudaPath::direct, CudaPath::tiled}) {
    CAPTURE(static_cast<int>(path));
    check_likelihood_and_counts(*tor(Backend::cuda, path));
    check_likelihood_and_counts(*joseph(Backend::cuda, path));
    check_likelihood_and_counts(*blobs(Backend::cuda, path));
  }
  check_strips(Backend::cuda);
}

TEST_CASE("MLEM with the TOR projector puts a point source where it is, with ToF and without") {
  check_point(*tor());
}

TEST_CASE("MLEM with the TOR projector converges faster with ToF on the same events") {
  check_convergence(*tor());
}
// SPDX-License-Identifier: Apache-2.0
