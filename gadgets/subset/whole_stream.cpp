// A whole stream's subsets: see whole_stream.hpp.
#include "gadgets/subset/whole_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "kernels/sort/partition.hpp"
#include "kernels/types/conditions.hpp"

namespace tofstream {

void WholeStream::take(EventBatch batch, const MessageInfo& message, EventStore& store) {
  quantity_.add(batch.quantity);
  if (batch.count == 0) return emptied_.add(batch);
  emptied_.give_to(batch);
  waiting_.push_back(store.hold(std::move(batch)));
  came_.push_back(message);
}

std::uint64_t WholeStream::event_count() const {
  std::uint64_t sum = 0;
  for (const EventBatch& batch : waiting_) sum += batch.event_count();
  return sum;
}

void WholeStream::cut(OfflineUpdates<EventBatch>& updates, EventStore& store, Emit<EventSubset>& emit,
                      Context& context) {
  cut(
      store,
      [&](int subsets, Conditions mean) {
        updates.set_conditions(std::move(mean));
        updates.expect(subsets);
      },
      [&](StoredEvents subset, const MessageInfo& data) { updates.arrive(std::move(subset), data, emit, context); });
}

void WholeStream::cut(EventStore& store, const Begin& begin, const Take& take) {
  if (waiting_.empty()) return;
  emptied_.give_to(waiting_.back());
  MeanConditions conditions;
  for (const EventBatch& batch : waiting_) conditions.add(batch);
  const std::vector<Share> shares = equal_shares();
  begin(static_cast<int>(shares.size()), conditions.get());
  if (settings_.cut == SubsetCut::interleaved)
    deal_out(shares, store, take);
  else
    cut_by_time(shares, store, take);
  waiting_.clear();
}

// Cuts the waiting events into equal subsets of consecutive events.
void WholeStream::cut_by_time(const std::vector<Share>& shares, EventStore& store, const Take& take) {
  const std::vector<double> time_fractions = share_reference_time(shares);
  std::vector<EventBatch> open;
  std::int64_t begin = 0;
  std::size_t k = 0, first = 0;  // first: the batch in which the open subset begins
  for (std::size_t last = 0; last < waiting_.size(); ++last) {
    EventBatch& batch = waiting_[last];
    const std::int64_t end = begin + batch.count;
    std::vector<std::int64_t> cuts;
    for (std::size_t j = k; shares[j].end < end; ++j) cuts.push_back(shares[j].end - begin);
    auto pieces = split_by_arrival(std::move(batch), cuts, copy_stream());
    batch = {};
    for (auto& piece : pieces) {
      begin += piece.count;
      if (open.empty()) first = last;
      open.push_back(std::move(piece));
      if (begin < shares[k].end) continue;
      StoredEvents subset = stored_subset(std::exchange(open, {}), store);
      subset.time_fraction = time_fractions[k++];
      take(std::move(subset), data_between(came_[first], came_[last]));
    }
  }
}

// Deals the waiting events out to as many subsets as equal_shares() has, each of which stands for the same time.
void WholeStream::deal_out(const std::vector<Share>& shares, EventStore& store, const Take& take) {
  const std::vector<double> time_fractions = share_reference_time(shares);
  const double equal_fraction =
      std::accumulate(time_fractions.begin(), time_fractions.end(), 0.0) / static_cast<double>(time_fractions.size());
  std::vector<std::vector<EventBatch>> open(shares.size());
  std::int64_t begin = 0;
  for (EventBatch& batch : waiting_) {
    const std::int64_t first = std::exchange(begin, begin + batch.count);
    auto pieces = deal_by_arrival(std::move(batch), static_cast<int>(shares.size()), first, copy_stream());
    batch = {};
    for (std::size_t k = 0; k < pieces.size(); ++k)
      if (pieces[k].count > 0) open[k].push_back(store.hold(std::move(pieces[k])));
  }
  const MessageInfo data = data_between(came_.front(), came_.back());
  for (std::vector<EventBatch>& batches : open) {
    StoredEvents subset = stored_subset(std::exchange(batches, {}), store);
    subset.time_fraction = equal_fraction;
    take(std::move(subset), data);
  }
}

// As many shares as subsets were asked for, or fewer: none is without an event, or has fewer than least_events.
std::vector<WholeStream::Share> WholeStream::equal_shares() const {
  const std::int64_t total = std::accumulate(waiting_.begin(), waiting_.end(), std::int64_t{0},
                                             [](std::int64_t sum, const EventBatch& b) { return sum + b.count; });
  // Many subsets of few events would each set most of the image to zero, for good.
  const std::int64_t subsets = settings_.least_events > 0
                                   ? std::clamp<std::int64_t>(total / settings_.least_events, 1, settings_.subsets)
                                   : settings_.subsets;
  std::vector<Share> shares;
  for (std::int64_t k = 1, begin = 0; k <= subsets; ++k) {  // without overflow for any count of events
    const std::int64_t end = total / subsets * k + total % subsets * k / subsets;
    if (end > begin) shares.push_back({begin, end});
    begin = end;
  }
  std::size_t k = 0;
  std::int64_t at = 0;
  for (const EventBatch& batch : waiting_) {  // its events are spread evenly over its time
    const std::int64_t batch_end = at + batch.count;
    while (at < batch_end) {
      const std::int64_t end = std::min(batch_end, shares[k].end);
      const double seconds = batch.duration_s * static_cast<double>(end - at) / static_cast<double>(batch.count);
      shares[k].seconds += seconds;
      shares[k].exposed_s += seconds * batch.exposure;
      at = end;
      if (at == shares[k].end) ++k;
    }
  }
  return shares;
}

// T_k / T over the whole scan; by number of events where the stream states no time.
std::vector<double> WholeStream::share_reference_time(const std::vector<Share>& shares) {
  double total_s = 0;
  bool timed = true;
  for (const Share& share : shares) {
    total_s += share.seconds;
    timed = timed && share.seconds > 0;
  }
  const double reference_s = settings_.reference_s > 0 ? settings_.reference_s : total_s;
  reference_s_ = timed ? reference_s : 0;
  std::vector<double> fractions;
  for (const Share& share : shares)
    fractions.push_back(timed ? share.exposed_s / reference_s
                              : static_cast<double>(share.end - share.begin) / static_cast<double>(shares.back().end));
  return fractions;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
