// Random coincidences by the billion: see long_list.hpp.
#include "tools/bench/long_list.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "core/base/atomic_file.hpp"
#include "gadgets/io/petsird/tof_bins.hpp"
#include "gadgets/io/petsird/writer.hpp"
#include "gadgets/ring/io/from_ring.hpp"
#include "kernels/project/tiled/visit_plan.hpp"
#include "kernels/ring/simulate/random_pairs.hpp"

namespace tofstream::command {

namespace {

constexpr std::int64_t drawn_a_batch = std::int64_t{1} << 20;

EventBatch draw_batch(const std::shared_ptr<const Scanner>& scanner, const Grid& grid, std::int64_t first,
                      std::int64_t count, Memory memory) {
  EventBatch batch = random_pairs(scanner, grid, 0, 0).without_arrays();
  batch.count = count;
  batch.detector1 = Buffer<std::uint32_t>(memory, count);
  batch.detector2 = Buffer<std::uint32_t>(memory, count);
  if (batch.tof.sigma_mm > 0) batch.tof_mm = Buffer<float>(memory, count);
  tbb::parallel_for(std::int64_t{0}, (count + drawn_a_batch - 1) / drawn_a_batch, [&](std::int64_t piece) {
    const std::int64_t begin = piece * drawn_a_batch, n = std::min(drawn_a_batch, count - begin);
    const EventBatch part =
        random_pairs(scanner, grid, n, static_cast<std::uint64_t>((first + begin) / drawn_a_batch + 1));
    for_each_array_pair(batch, part, [&](auto& to, const auto& from) {
      if (!from.empty()) std::memcpy(to.data() + begin, from.data(), from.bytes());
    });
  });
  return batch;
}

}  // namespace

Batches draw_long_list(const std::shared_ptr<const Scanner>& scanner, const Grid& grid, std::int64_t count,
                       Memory memory) {
  Batches batches;
  for (std::int64_t first = 0; first < count; first += tiled::most_at_a_time) {
    const std::int64_t n = std::min(tiled::most_at_a_time, count - first);
    batches.push_back(std::make_shared<const EventBatch>(draw_batch(scanner, grid, first, n, memory)));
  }
  return batches;
}

Batches copied(const Batches& batches, Memory memory) {
  Batches result;
  for (const auto& batch : batches) result.push_back(std::make_shared<const EventBatch>(batch->to(memory)));
  synchronize(nullptr);
  return result;
}

std::int64_t count_of(const Batches& batches) {
  std::int64_t sum = 0;
  for (const auto& batch : batches) sum += batch->count;
  return sum;
}

void write_petsird(const RingScanner& ring, const Batches& batches, const std::filesystem::path& file) {
  constexpr double events_a_second = 5e6;
  AtomicFile out(file);
  auto made = petsird::header_of(ring);
  const petsird::BinEdges edges_mm = made.header.scanner.tof_bin_edges_mm.at(0).at(0);
  petsird::Writer writer([&](std::span<const std::byte> bytes) { out.write(bytes); }, std::move(made.header));
  std::vector<petsird::CoincidenceEvent> block;
  std::int64_t before = 0;
  const auto ms = [](std::int64_t events) {
    return static_cast<std::uint32_t>(1000 * static_cast<double>(events) / events_a_second);
  };
  for (const auto& batch : batches)
    for (std::int64_t begin = 0; begin < batch->count; begin += drawn_a_batch) {
      const EventView events = batch->view().slice(begin, std::min(drawn_a_batch, batch->count - begin));
      block.resize(static_cast<std::size_t>(events.count));
      tbb::parallel_for(std::int64_t{0}, events.count, [&](std::int64_t i) {
        const std::uint32_t bin =
            events.tof_mm ? petsird::tof_bin_of(edges_mm, static_cast<double>(events.tof_mm[i])) : 0;
        block[static_cast<std::size_t>(i)] = {events.detector1[i], events.detector2[i], bin};
      });
      writer.write_events({ms(before), ms(before + events.count)}, {block});
      before += events.count;
    }
  writer.finish();
  out.commit();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
