// Cuts at moments: see cut_in_time.hpp.
#include "gadgets/cut_in_time.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/sort/partition.hpp"

namespace tofstream {

namespace {

constexpr double rounding_s = 1e-9;

// At the events that are nearest to the moments; a batch's time is shared in proportion to its events.
std::vector<EventBatch> cut_at_events(EventBatch batch, std::span<const double> moments_s) {
  std::vector<std::int64_t> cuts;
  for (const double moment_s : moments_s) {
    const double within_s = moment_s - batch.start_s;
    if (within_s <= rounding_s || within_s >= batch.duration_s - rounding_s) continue;
    const auto events = std::llround(static_cast<double>(batch.count) * within_s / batch.duration_s);
    if (events > 0 && events < batch.count && (cuts.empty() || events > cuts.back())) cuts.push_back(events);
  }
  return split_by_arrival(std::move(batch), cuts, copy_stream(), ArrivalRanks::kept);
}

}  // namespace

std::vector<EventBatch> cut_in_time(EventBatch batch, std::span<const double> moments_s) {
  if (batch.count > 0) return cut_at_events(std::move(batch), moments_s);
  const double end_s = batch.start_s + batch.duration_s;
  std::vector<EventBatch> pieces;
  double from_s = batch.start_s;
  const auto until = [&](double to_s) {
    pieces.push_back(batch.without_arrays());
    pieces.back().start_s = from_s;
    pieces.back().duration_s = to_s - from_s;
    from_s = to_s;
  };
  for (const double moment_s : moments_s)
    if (moment_s > from_s && moment_s < end_s) until(moment_s);
  until(end_s);
  return pieces;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
