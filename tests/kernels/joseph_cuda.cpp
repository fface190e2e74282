// Joseph in CUDA against the double-precision reference: forward, back and EM step, on the cases
// that the CPU is tested on.
#include "tests/kernels/joseph_support.hpp"
#include "tests/support/gpu.hpp"

namespace tofstream::testing {

namespace {

void check_cuda_joseph(const Grid& grid, const JosephSettings& settings, const EventBatch& batch) {
  const auto image = random_numbers(grid.voxels(), 1);
  const auto values = random_numbers(batch.count, 2);
  const Projections expected = project(*make_joseph_reference(grid, settings), batch, image, values);
  const Projections actual = project(*make_joseph_projector(grid, settings, Backend::cuda), batch, image, values);
  CHECK(error_of_range(actual.forward, expected.forward) < 1e-5);
  CHECK(error_of_range(actual.back, expected.back) < 1e-5);
  CHECK(error_of_range(actual.em, expected.em) < 1e-5);
  CHECK(actual.tally.used == expected.tally.used);
  CHECK(actual.tally.skipped == expected.tally.skipped);
  // Terms of either sign cancel in the sum, so its error is judged by their number.
  CHECK(std::abs(actual.tally.log_sum - expected.tally.log_sum) < 1e-6 * static_cast<double>(batch.count));
  CHECK(inner(actual.forward, values) == doctest::Approx(inner(image, actual.back)).epsilon(1e-5));
}

}  // namespace

TEST_CASE("Joseph in CUDA equals the reference: random LORs with free ends") {
  if (!gpu_or_skip()) return;
  const Grid shifted = {{21, 14, 9}, {2, 1.5f, 4}, {-20, -9, -15}};
  for (const auto edge : {JosephSettings::Edge::full, JosephSettings::Edge::clipped}) {
    for (const TofModel tof : {TofModel{}, TofModel{5, 0}, TofModel{5, 3}, TofModel{4, 8}}) {
      CAPTURE(tof.bin_width_mm);
      EventBatch batch = events_through(shifted, 3001, tof, 11);
      check_cuda_joseph(shifted, {edge}, batch);
      auto additive = random_numbers(batch.count, 4, 0.1f, 1);
      additive[3] = -1e6f;
      additive[70] = std::numeric_limits<float>::quiet_NaN();
      batch.additive = Buffer<float>::from(additive);
      check_cuda_joseph(shifted, {edge}, batch);
    }
  }
}

TEST_CASE("Joseph in CUDA equals the reference on W1") {
  if (!gpu_or_skip()) return;
  const Workload w1 = find_workload("W1");
  EventBatch batch = random_lors(w1, 5000, 5);
  check_cuda_joseph(w1.grid, {}, batch);
  batch.tof_mm = {};
  check_cuda_joseph(w1.grid, {}, batch);
}

TEST_CASE("Joseph in CUDA reads detector ids") {
  if (!gpu_or_skip()) return;
  std::vector<Vec3> positions;
  for (int i = 0; i < 64; ++i) {
    const float angle = 0.0981747704f * static_cast<float>(i);
    positions.push_back({30 * std::cos(angle), 30 * std::sin(angle), 0.7f * static_cast<float>(i)});
  }
  EventBatch batch;
  batch.count = 64 * 63;
  batch.tof = {6, 2};
  batch.detectors = std::make_shared<DetectorTable>(positions);
  batch.detector1 = Buffer<std::uint32_t>(Memory::host, batch.count);
  batch.detector2 = Buffer<std::uint32_t>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    batch.detector1[i] = static_cast<std::uint32_t>(i / 63);
    batch.detector2[i] = static_cast<std::uint32_t>((i / 63 + 1 + i % 63) % 64);
  }
  batch.tof_mm = Buffer<float>::from(random_numbers(batch.count, 6, -20, 20));
  batch.additive = Buffer<float>::from(random_numbers(batch.count, 7, 0.1f, 1));
  check_cuda_joseph(box(), {}, batch);
}

}  // namespace tofstream::testing
