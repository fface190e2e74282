// Joseph in CUDA against the double-precision reference: forward, back and EM step, on the cases
// that the CPU is tested on.
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/kernels/ring/joseph_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

namespace tofstream::testing {

namespace {

void check_cuda_joseph(const Grid& grid, JosephSettings settings, const EventBatch& batch, CudaPath path) {
  CAPTURE(static_cast<int>(path));
  settings.cuda_path = path;
  const auto image = random_numbers(grid.voxels(), 1);
  const auto values = random_numbers(batch.count, 2);
  const Projections expected = project(*make_joseph_reference(grid, settings), batch, image, values);
  const Projections actual = project(*make_joseph_projector(grid, settings, Backend::cuda), batch, image, values);
  CHECK(error_of_range(actual.forward, expected.forward) < 1e-5);
  CHECK(error_of_range(actual.back, expected.back) < 1e-5);
  CHECK(error_of_range(actual.em, expected.em) < 1e-5);
  CHECK(actual.tally.used == expected.tally.used);
  CHECK(actual.tally.skipped == expected.tally.skipped);
  // Terms of either sign cancel in the sum, so its error is judged relative to their number.
  CHECK(std::abs(actual.tally.log_sum - expected.tally.log_sum) < 1e-6 * static_cast<double>(batch.count));
  CHECK(inner(actual.forward, values) == approx(inner(image, actual.back)).epsilon(1e-5));
}

void check_cuda_joseph(const Grid& grid, const JosephSettings& settings, const EventBatch& batch) {
  for (const auto path : {CudaPath::direct, CudaPath::tiled}) check_cuda_joseph(grid, settings, batch, path);
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

// RMS, since the coordinates of visits are good to 6e-5 voxels, and a line that grazes the image's corner enlarges that
// error.
TEST_CASE("Joseph in CUDA equals the reference where paths cross tiles") {
  if (!gpu_or_skip()) return;
  const Workload w3 = find_workload("W3");  // tiles end along all three axes
  EventBatch batch = random_lors(w3, 20000, 6);
  const auto image = random_numbers(w3.grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(batch.count, 2);
  for (const bool tof : {true, false}) {
    CAPTURE(tof);
    if (!tof) batch.tof_mm = {};
    const auto tiled = make_joseph_projector(w3.grid, {.cuda_path = CudaPath::tiled}, Backend::cuda);
    const Projections expected = project(*make_joseph_reference(w3.grid, {}), batch, image, values);
    const Projections actual = project(*tiled, batch, image, values);
    CHECK(rms_of_range(actual.em, expected.em) < 1e-6);
    CHECK(actual.tally.used == expected.tally.used);
    CHECK(std::abs(actual.tally.log_sum - expected.tally.log_sum) < 1e-6 * static_cast<double>(batch.count));
  }
}

TEST_CASE("lines along the walls of tiles are in the tile that they are counted in") {
  if (!gpu_or_skip()) return;
  // Ends on the lattice of voxel centres: many lines run through voxel centres, which is where tiles meet.
  const Grid grid = Grid::centred(200, 200, 300, {2, 2, 2});
  std::mt19937 engine(3);
  const auto at = [&](int axis, int low, int high) {
    const int index = low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
    return grid.origin_mm[axis] + static_cast<float>(index) * grid.voxel_mm[axis];
  };
  constexpr int slopes[] = {0, 0, 25, 50, 100, 200};
  std::vector<Lor> lors;
  for (int i = 0; i < 200'000; ++i) {
    const int axis = i % 3, u = (axis + 1) % 3, v = (axis + 2) % 3, length = grid.size[axis];
    Lor lor{{}, {}, static_cast<float>(static_cast<int>(engine() % 300) - 150)};
    const float to_u = static_cast<float>(slopes[engine() % 6]), to_v = static_cast<float>(slopes[engine() % 6]);
    lor.end1.set(axis, at(axis, -50, -50));
    lor.end2.set(axis, at(axis, length + 50, length + 50));
    lor.end1.set(u, at(u, 0, grid.size[u] - 1));
    lor.end1.set(v, at(v, 0, grid.size[v] - 1));
    lor.end2.set(u, lor.end1[u] + 2 * to_u);
    lor.end2.set(v, lor.end1[v] - 2 * to_v);
    lors.push_back(lor);
  }
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  for (const TofModel tof : {TofModel{13.6f, 0}, TofModel{}}) {
    const EventBatch batch = batch_of(lors, tof);
    const auto values = random_numbers(batch.count, 2, 0.5f, 1.5f);
    const auto gpu = make_joseph_projector(grid, {.cuda_path = CudaPath::tiled}, Backend::cuda);
    const Projections found = project(*gpu, batch, image, values);
    const Projections expected = project(*make_joseph_projector(grid, {}, Backend::cpu), batch, image, values);
    CHECK(found.tally.used == expected.tally.used);
    CHECK(error_of_range(found.back, expected.back) < 1e-4);  // a tile's crossings keep 6e-5 voxels from its walls
    CHECK(error_of_range(found.em, expected.em) < 1e-3);      // from lines with little more weight than that
  }
}

TEST_CASE("a plan of events serves every pass, and holds what it says") {
  if (!gpu_or_skip()) return;
  const Workload w1 = find_workload("W1");
  const EventBatch events = random_lors(w1, 30000, 8).to(Memory::device);
  const auto projector = make_joseph_projector(w1.grid, {}, Backend::cuda);
  const auto plan = projector->plan(events.view());
  REQUIRE(plan);
  CHECK(plan->bytes() >= 30000 * std::size_t{32});
  for (const std::uint64_t seed : {1, 2}) {
    const auto x = Buffer<float>::from(random_numbers(w1.grid.voxels(), seed, 0.5f, 1.5f)).to(Memory::device);
    auto once = Buffer<float>::zeros(Memory::device, w1.grid.voxels());
    auto planned = Buffer<float>::zeros(Memory::device, w1.grid.voxels());
    const EmTally a = projector->em_step(events.view(), x.data(), once.data());
    const EmTally b = projector->planned_em_step(plan.get(), events.view(), x.data(), planned.data());
    CHECK(a.used == b.used);
    CHECK(a.log_sum == approx(b.log_sum).epsilon(1e-12));
    CHECK(error_of_range(planned.to_vector(), once.to_vector()) < 1e-6);
  }
}

TEST_CASE("events that all miss the image are counted, and take no tile") {
  if (!gpu_or_skip()) return;
  const std::vector<Lor> outside(300, Lor{{500, -400, 0}, {500, 400, 0}, 0});
  const EventBatch events = batch_of(outside, {8, 0}).to(Memory::device);
  const Grid grid = Grid::centred(20, 20, 20, {4, 4, 4});
  const RadialResponse response = RadialResponse::gaussian(5, 6);
  std::vector<std::unique_ptr<ListModeProjector>> projectors;
  projectors.push_back(make_joseph_projector(grid, {.cuda_path = CudaPath::tiled}, Backend::cuda));
  projectors.push_back(make_tor_projector(grid, {.response = response, .cuda_path = CudaPath::tiled}, Backend::cuda));
  for (const auto& projector : projectors) {
    const auto ones = Buffer<float>::from(std::vector<float>(8000, 1.0f)).to(Memory::device);
    auto sums = Buffer<float>::zeros(Memory::device, 8000);
    const EmTally tally = projector->em_step(events.view(), ones.data(), sums.data());
    CHECK(tally.used == 0);
    CHECK(tally.skipped == 300);
    CHECK(sums.to_vector() == std::vector<float>(8000, 0.0f));
  }
}

TEST_CASE("fixed-point sums hold all events along one line of voxels") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(9, 9, 9, {4, 4, 4});
  const Buffer<float> x = Buffer<float>::from(std::vector<float>(729, 1.0f)).to(Memory::device);
  const auto projector = make_joseph_projector(grid, {.cuda_path = CudaPath::tiled}, Backend::cuda);
  // Numbers of events that bring the bound near a power of two from below and from above.
  for (const int count : {32767, 32768, 36000, 65535, 65537, 200000}) {
    CAPTURE(count);
    const std::vector<Lor> same(static_cast<std::size_t>(count), Lor{{-200, 0, 0}, {200, 0, 0}, 0});
    auto sums = Buffer<float>::zeros(Memory::device, grid.voxels());
    const EventBatch events = batch_of(same).to(Memory::device);
    projector->em_step(events.view(), x.data(), sums.data());
    const std::vector<float> sum = sums.to_vector();
    for (int i = 0; i < 9; ++i)  // each event adds 4 mm / 36 mm
      CHECK(sum[static_cast<std::size_t>(grid.index(i, 4, 4))] == approx(count / 9.0).epsilon(1e-5));
  }
}

TEST_CASE("ratios far beyond the others' leave them their precision") {
  if (!gpu_or_skip()) return;
  // Voxels at one side of the image are so dark that the lines there have ten thousand times the ratio of the others.
  const Grid grid = Grid::centred(40, 40, 20, {4, 4, 4});
  const EventBatch batch = batch_of(random_lines(grid, 20000, 9), {8, 0});
  auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  for (std::int64_t v = 0; v < grid.voxels(); ++v)
    if (v % 40 >= 36) image[static_cast<std::size_t>(v)] *= 1e-4f;
  const auto em_of = [&](ListModeProjector& projector) {
    const auto events = batch.to(memory_of(projector.backend()));
    const auto x = Buffer<float>::from(image).to(memory_of(projector.backend()));
    auto sums = Buffer<float>::zeros(memory_of(projector.backend()), grid.voxels());
    projector.em_step(events.view(), x.data(), sums.data());
    return sums.to_vector();
  };
  const auto expected = em_of(*make_joseph_reference(grid, {}));
  const auto actual = em_of(*make_joseph_projector(grid, {.cuda_path = CudaPath::tiled}, Backend::cuda));
  // Where only ordinary events pass, each voxel agrees to a small part of its own value.
  int bright = 0;
  double squares = 0;
  for (std::size_t v = 0; v < expected.size(); ++v)
    if (v % 40 < 20 && expected[v] > 0.01f && expected[v] < 1e3f) {
      ++bright;
      squares += std::pow(static_cast<double>(actual[v] / expected[v]) - 1, 2);
    }
  CHECK(bright > 1000);
  CHECK(std::sqrt(squares / bright) < 1e-4);
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
// SPDX-License-Identifier: Apache-2.0
