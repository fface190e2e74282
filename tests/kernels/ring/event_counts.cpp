// Counts of events: a histogram's bin with y counts is y events of the bin, to the projectors of lines, and to arrays'
// copies, sorts and books.
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "kernels/sort/partition.hpp"
#include "kernels/sort/select.hpp"
#include "kernels/types/join_events.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

const Grid counted_grid = Grid::centred(24, 24, 16, {4, 4, 4});

/// Lines with counts from 0 to 4 and additive terms, one of which misses the image.
EventBatch bins() {
  std::vector<Lor> lines = random_lines(counted_grid, 200, 5);
  lines[3] = {{-200, 300, 0}, {200, 300, 0}, 0};
  EventBatch batch = batch_of(lines, {40.5f, 0});
  batch.counts = Buffer<float>(Memory::host, batch.count);
  batch.additive = Buffer<float>(Memory::host, batch.count);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    batch.counts[i] = static_cast<float>(i % 5);
    batch.additive[i] = i == 3 ? 0 : 0.01f * static_cast<float>(i % 7);
  }
  return batch;
}

/// The same as events, each once for every count of its bin.
EventBatch listed(const EventBatch& bins) {
  std::vector<EventBatch> parts;
  for (int n = 0; n < 4; ++n) {
    EventBatch part = bins.to(Memory::host);
    part = select(std::move(part),
                  [n](const EventView& view, std::int64_t i) { return view.counts[i] > static_cast<float>(n); });
    part.counts = {};
    parts.push_back(std::move(part));
  }
  return join_events(parts, Memory::host);
}

void check_counted(ListModeProjector& projector, ListModeProjector& reference) {
  const EventBatch counted = bins(), list = listed(counted);
  const Image image = noise_image(counted_grid, 2);
  const auto step = [&](ListModeProjector& with, const EventBatch& events, std::vector<float>& sum) {
    const Memory memory = memory_of(with.backend());
    const EventBatch there = events.to(memory);
    const Image estimate = image.to(memory);
    Image into = Image::zeros(with.grid(), memory);
    const EmTally tally = with.em_step(there.view(), estimate.voxels.data(), into.voxels.data());
    sum = into.voxels.to_vector();
    return tally;
  };
  std::vector<float> of_bins, of_list, expected;
  const EmTally bins_tally = step(projector, counted, of_bins), list_tally = step(projector, list, of_list);
  const EmTally reference_tally = step(reference, counted, expected);
  CHECK(rms_of_range(of_bins, of_list) < (projector.backend() == Backend::cuda ? 3e-6 : 1e-6));
  CHECK(rms_of_range(of_bins, expected) < 2e-5);
  CHECK(list.count == 400);
  for (const EmTally& tally : {bins_tally, list_tally, reference_tally}) {
    CHECK(tally.used == 397);
    CHECK(tally.skipped == 3);
    CHECK(tally.log_sum == approx(list_tally.log_sum).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("counts: a bin of y counts is y events to Joseph's projector and to tubes") {
  check_counted(*make_joseph_projector(counted_grid, {}, Backend::cpu), *make_joseph_reference(counted_grid, {}));
  const TorSettings tubes{RadialResponse::gaussian(5, 6)};
  check_counted(*make_tor_projector(counted_grid, tubes, Backend::cpu), *make_tor_reference(counted_grid, tubes));
}

TEST_CASE("counts: a bin of y counts is y events on a GPU, by every path") {
  if (!gpu_or_skip()) return;
  for (const CudaPath path : {CudaPath::direct, CudaPath::tiled}) {
    CAPTURE(static_cast<int>(path));
    check_counted(*make_joseph_projector(counted_grid, {.cuda_path = path}, Backend::cuda),
                  *make_joseph_reference(counted_grid, {}));
    TorSettings tubes{RadialResponse::gaussian(5, 6)};
    const auto reference = make_tor_reference(counted_grid, tubes);
    tubes.cuda_path = path;
    check_counted(*make_tor_projector(counted_grid, tubes, Backend::cuda), *reference);
  }
  EventBatch batch = bins().to(Memory::device);
  CHECK(batch.event_count() == 400);
  const std::int64_t cuts[] = {50, 120};
  std::uint64_t sum = 0;
  for (const EventBatch& piece : split_by_arrival(partition_and_sort(std::move(batch), Backend::cuda), cuts))
    sum += piece.event_count();
  CHECK(sum == 400);
}

TEST_CASE("counts: an event of one count is the event, bit for bit") {
  EventBatch ones = bins();
  std::ranges::fill(ones.counts.span(), 1.0f);
  EventBatch list = ones.to(Memory::host);
  list.counts = {};
  const auto projector = make_joseph_projector(counted_grid, {}, Backend::cpu);
  const std::vector<float> image(static_cast<std::size_t>(counted_grid.voxels()), 1.0f);
  const auto values = random_numbers(ones.count, 3);
  const Projections a = project(*projector, ones, image, values), b = project(*projector, list, image, values);
  CHECK(same_bits(a.em, b.em));
  CHECK(a.tally.log_sum == b.tally.log_sum);
  CHECK(a.tally.used == b.tally.used);
}

TEST_CASE("counts: batches count them in their books, and they stay with their events") {
  EventBatch batch = bins();
  CHECK(batch.event_count() == 400);
  CHECK(batch.without_arrays().count == 200);
  const std::vector<float> before = batch.counts.to_vector(), additive = batch.additive.to_vector();
  EventBatch sorted = partition_and_sort(std::move(batch), Backend::cpu);
  CHECK(sorted.event_count() == 400);
  for (std::int64_t i = 0; i < sorted.count; ++i) {
    CHECK(sorted.counts[i] == before[sorted.arrival[i]]);
    CHECK(sorted.additive[i] == additive[sorted.arrival[i]]);
  }
  const std::int64_t cuts[] = {50, 120};
  std::uint64_t sum = 0;
  for (const EventBatch& piece : split_by_arrival(std::move(sorted), cuts)) sum += piece.event_count();
  CHECK(sum == 400);
  EventBatch torn = bins();
  torn.counts = Buffer<float>(Memory::host, 7);
  CHECK_THROWS_AS(torn.view(), std::logic_error);
}
// SPDX-License-Identifier: Apache-2.0
