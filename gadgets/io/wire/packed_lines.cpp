// Pairs of detectors of bins: see packed_lines.hpp.
#include "gadgets/io/wire/packed_lines.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tofstream::wire {

namespace {

// The lines of a scanner that came, which others only read.
ReceivedLines* received_lines(const Scanner& scanner) {
  const auto received = std::dynamic_pointer_cast<const ReceivedLines>(scanner.lines);
  return std::const_pointer_cast<ReceivedLines>(received).get();
}

bool are_below(std::span<const std::uint32_t> detectors, const DetectorTable& table) {
  return std::ranges::all_of(detectors, [&](std::uint32_t d) { return d < table.size(); });
}

}  // namespace

EventBatch ReceivedLines::lines(std::int64_t, std::int64_t) const {
  throw std::logic_error("the first rank reads a histogram's lines");
}

BinPairs ReceivedLines::pairs(std::span<const std::uint32_t> bins) const {
  const std::lock_guard lock(mutex_);
  BinPairs result;
  result.first.push_back(0);
  const OfBatch* known = nullptr;
  std::int64_t at = -1;
  const auto is_in = [&](const OfBatch& batch, std::uint32_t bin) {
    const auto found = std::ranges::lower_bound(batch.bins, bin);
    if (found == batch.bins.end() || *found != bin) return false;
    known = &batch;
    at = batch.at[static_cast<std::size_t>(found - batch.bins.begin())];
    return true;
  };
  for (const std::uint32_t bin : bins) {
    const bool is_there = (known && is_in(*known, bin)) ||
                          std::ranges::any_of(batches_, [&](const auto& batch) { return is_in(batch.second, bin); });
    if (!is_there) throw std::runtime_error("the lines of a bin did not come to this rank");
    const BinPairs& of = known->pairs;
    const std::int64_t begin = of.first[static_cast<std::size_t>(at)], end = of.first[static_cast<std::size_t>(at) + 1];
    result.detector1.insert(result.detector1.end(), of.detector1.begin() + begin, of.detector1.begin() + end);
    result.detector2.insert(result.detector2.end(), of.detector2.begin() + begin, of.detector2.begin() + end);
    result.first.push_back(static_cast<std::int64_t>(result.detector1.size()));
  }
  return result;
}

void ReceivedLines::add(std::uint64_t batch, std::span<const std::uint32_t> bins, BinPairs pairs) {
  OfBatch of{.bins = {}, .at = std::vector<std::int64_t>(bins.size()), .pairs = std::move(pairs)};
  std::iota(of.at.begin(), of.at.end(), 0);
  std::ranges::stable_sort(of.at, {}, [&](std::int64_t at) { return bins[static_cast<std::size_t>(at)]; });
  for (const std::int64_t at : of.at) of.bins.push_back(bins[static_cast<std::size_t>(at)]);
  const std::lock_guard lock(mutex_);
  batches_[batch] = std::move(of);
}

void ReceivedLines::forget(std::uint64_t batch) {
  const std::lock_guard lock(mutex_);
  batches_.erase(batch);
}

void pack_bin_pairs(PackWriter& to, const RecordedLines* lines, std::span<const std::uint32_t> bins) {
  const bool are_spread = lines && lines->are_spread();
  to.value(std::uint32_t{are_spread});
  if (!are_spread) return;
  const auto pairs = std::make_shared<const BinPairs>(lines->pairs(bins));
  to.array(std::span<const std::uint32_t>(pairs->detector1), pairs);
  to.array(std::span<const std::uint32_t>(pairs->detector2), pairs);
  to.array(std::span<const std::int64_t>(pairs->first), pairs);
}

void unpack_bin_pairs(PackReader& from, const Scanner& scanner, std::uint64_t batch,
                      std::span<const std::uint32_t> bins) {
  if (from.value<std::uint32_t>() == 0) return;
  const auto detector1 = from.array<std::uint32_t>(), detector2 = from.array<std::uint32_t>();
  const auto first = from.array<std::int64_t>();
  ReceivedLines* const lines = received_lines(scanner);
  if (!lines) PackReader::refuse("lines of bins that are single lines");
  if (first.size() != bins.size() + 1 || first.front() != 0 || !std::ranges::is_sorted(first) ||
      first.back() != static_cast<std::int64_t>(detector1.size()) || detector2.size() != detector1.size())
    PackReader::refuse("lines are not those of their bins");
  if (!are_below(detector1, *scanner.detectors) || !are_below(detector2, *scanner.detectors))
    PackReader::refuse("a line's detector is not in the table");
  lines->add(
      batch, bins,
      {{detector1.begin(), detector1.end()}, {detector2.begin(), detector2.end()}, {first.begin(), first.end()}});
}

void forget_bin_pairs(const Scanner& scanner, std::uint64_t batch) {
  if (ReceivedLines* const lines = received_lines(scanner)) lines->forget(batch);
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
