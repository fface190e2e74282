// The subsets of an offline list-mode reconstruction: sorted events grouped in time order, kept (on the GPU while they
// fit, else in host memory, else on disk) and sent by the rule of offline_updates.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/subset/event_store.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/subset_cutter.hpp"
#include "kernels/sort/partition.hpp"

namespace tofstream {

/// How the whole stream is cut into subsets.
enum class SubsetCut { time, interleaved };
constexpr auto enum_names(SubsetCut) {
  return names(SubsetCut::time, "time", SubsetCut::interleaved, "interleaved");
}

namespace {

struct SubsetBuilder {
  struct Params {
    int subsets = 0;
    SubsetCut cut = SubsetCut::time;
    std::int64_t events = 0;
    double seconds = 0;
    std::int64_t least_events = 0;
    int iterations = 1;
    PassRule order = PassRule::sequential;
    std::int64_t seed = 1;
    BackendChoice backend = BackendChoice::automatic;
    double reference_s = 1;
    double device_reserve_gib = 4;
    double host_reserve_gib = 4;
    std::filesystem::path spill_folder;
    ImageParams image;
  };
  static constexpr auto params = describe(
      param<&Params::subsets>("subsets", range(0, 100000),
                              "Cut the whole stream into this many subsets, once it has ended"),
      param<&Params::cut>("cut",
                          "Of `subsets`: time: consecutive events each; interleaved: every subset has each "
                          "so many-th event, so that it covers the whole scan and stands for an equal share"),
      param<&Params::events>("events", at_least(0), "Or: a subset as soon as this many events have come"),
      param<&Params::seconds>("seconds", at_least(0), unit("s"),
                              "Or: a subset as soon as this much scan time has come"),
      param<&Params::least_events>("least_events", at_least(0),
                                   "A subset grows until it has at least this many; what is left at the end "
                                   "of the stream joins the last one; there may then be fewer than `subsets`"),
      param<&Params::iterations>("iterations", range(1, 10000), "Passes over all subsets"),
      param<&Params::order>("order", pass_rule_words), param<&Params::seed>("seed", at_least(0), pass_seed_words),
      param<&Params::backend>("backend", "Where the subsets will be projected"),
      param<&Params::reference_s>("reference_s", range(0, 1e9), unit("s"), reference_words),
      param<&Params::device_reserve_gib>("device_reserve_gib", at_least(0), unit("GiB"), device_reserve_words),
      param<&Params::host_reserve_gib>("host_reserve_gib", at_least(0), unit("GiB"), host_reserve_words),
      param<&Params::spill_folder>("spill_folder", spilling_is_operators, spill_folder_words),
      param<&Params::image>("image", "The image, for which room is left on the GPU"));
  // Subsets share the events that are held; their number is not known before the scan.
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = memory_product(static_cast<std::size_t>(p.events), event_bytes),
            .gives_on_device = wants_cuda(p.backend),
            .lower = "events",
            .note = p.iterations == 1 && p.subsets == 0 && p.order == PassRule::sequential
                        ? "holds the events of a few subsets, 12 to 28 B each"
                        : keeps_events_note};
  }
  static constexpr bool own_thread = true;  // emits every iteration from flush, held back by the edge
  static constexpr bool harmless = true;

  explicit SubsetBuilder(const Params& p)
      : p_(p),
        store_(store_settings(p)),
        cutter_({p.events, p.seconds, p.least_events, p.reference_s}),
        updates_(
            {.iterations = p.iterations, .holds_last = p.subsets > 0 || p.least_events > 0, .order = {p.order, p.seed}},
            [this] { return p_.subsets > 0 ? quantity_.get(reference_s_) : cutter_.quantity(); }) {
    if (p.subsets == 0 && p.reference_s == 0)
      throw std::invalid_argument(
          "reference_s: 0 counts the decays of the whole scan, whose length only `subsets` waits for: set 1");
    if ((p.subsets > 0) + (p.events > 0) + (p.seconds > 0) != 1)
      throw std::invalid_argument("set exactly one of subsets, events and seconds");
    if (p.cut == SubsetCut::interleaved && p.subsets == 0)
      throw std::invalid_argument(
          "cut: interleaved needs the whole stream: set subsets, in place of events or seconds");
  }

  void process(EventBatch batch, Emit<EventSubset>& emit, Context& context) {
    if (batch.count > 0) require_one_kind(batch, delayed_);
    if (batch.scanner) {
      if (p_.subsets == 0) updates_.begin_live(batch.live);
      updates_.announce({.scanner = batch.scanner, .live = batch.live}, emit, context);
    }
    if (p_.subsets > 0) return wait_for_end(std::move(batch), context.message());
    for (StoredEvents& subset : cutter_.take(std::move(batch), store_)) {
      updates_.arrive(std::move(subset), data_.ended_by(context.message()), emit, context);
      report(context);
    }
  }

  void flush(Emit<EventSubset>& emit, Context& context) {
    if (p_.subsets > 0) {
      if (!waiting_.empty()) emptied_.give_to(waiting_.back());
      updates_.set_live(mean_live_pattern());
      if (p_.cut == SubsetCut::interleaved)
        deal_stream_into_subsets(emit, context);
      else
        cut_stream_into_subsets(emit, context);
    } else if (auto rest = cutter_.finish(store_)) {
      updates_.arrive(std::move(*rest), data_.ended_by(context.message()), emit, context);
    }
    report(context);
    updates_.finish(emit, context);
  }

 private:
  void wait_for_end(EventBatch batch, const MessageInfo& message) {
    quantity_.add(batch.quantity);
    if (batch.count == 0) return emptied_.add(batch);
    emptied_.give_to(batch);
    waiting_.push_back(store_.hold(std::move(batch)));
    came_.push_back(message);
  }

  // A subset's share of the whole stream: events up to `end`, and their time.
  struct Share {
    std::int64_t begin = 0, end = 0;
    double seconds = 0, exposed_s = 0;
  };

  std::shared_ptr<const LivePattern> mean_live_pattern() const {
    MeanLivePattern mean;
    for (const EventBatch& batch : waiting_) mean.add(batch.live, batch.duration_s * batch.exposure);
    return mean.get();
  }

  // Cuts the waiting events into equal subsets of consecutive events.
  void cut_stream_into_subsets(Emit<EventSubset>& emit, Context& context) {
    const std::vector<Share> shares = equal_shares();
    const std::vector<double> time_fractions = share_reference_time(shares);
    updates_.expect(static_cast<int>(shares.size()));
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
        StoredEvents subset = stored_subset(std::exchange(open, {}), store_);
        subset.time_fraction = time_fractions[k++];
        updates_.arrive(std::move(subset), data_between(came_[first], came_[last]), emit, context);
      }
    }
    waiting_.clear();
  }

  // Deals the waiting events out to as many subsets as equal_shares() has, each of which stands for the same time.
  void deal_stream_into_subsets(Emit<EventSubset>& emit, Context& context) {
    if (waiting_.empty()) return;
    const std::vector<Share> shares = equal_shares();
    const std::vector<double> time_fractions = share_reference_time(shares);
    const double equal_fraction =
        std::accumulate(time_fractions.begin(), time_fractions.end(), 0.0) / static_cast<double>(time_fractions.size());
    updates_.expect(static_cast<int>(shares.size()));
    std::vector<std::vector<EventBatch>> open(shares.size());
    std::int64_t begin = 0;
    for (EventBatch& batch : waiting_) {
      const std::int64_t first = std::exchange(begin, begin + batch.count);
      auto pieces = deal_by_arrival(std::move(batch), static_cast<int>(shares.size()), first, copy_stream());
      batch = {};
      for (std::size_t k = 0; k < pieces.size(); ++k)
        if (pieces[k].count > 0) open[k].push_back(store_.hold(std::move(pieces[k])));
    }
    const MessageInfo data = data_between(came_.front(), came_.back());
    for (std::vector<EventBatch>& batches : open) {
      StoredEvents subset = stored_subset(std::exchange(batches, {}), store_);
      subset.time_fraction = equal_fraction;
      updates_.arrive(std::move(subset), data, emit, context);
    }
    waiting_.clear();
  }

  // As many shares as subsets were asked for, or fewer: none is without an event, or has fewer than least_events.
  std::vector<Share> equal_shares() const {
    const std::int64_t total = std::accumulate(waiting_.begin(), waiting_.end(), std::int64_t{0},
                                               [](std::int64_t sum, const EventBatch& b) { return sum + b.count; });
    // Many subsets of few events would each set most of the image to zero, for good.
    const std::int64_t subsets =
        p_.least_events > 0 ? std::clamp<std::int64_t>(total / p_.least_events, 1, p_.subsets) : p_.subsets;
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
  std::vector<double> share_reference_time(const std::vector<Share>& shares) {
    double total_s = 0;
    bool timed = true;
    for (const Share& share : shares) {
      total_s += share.seconds;
      timed = timed && share.seconds > 0;
    }
    const double reference_s = p_.reference_s > 0 ? p_.reference_s : total_s;
    reference_s_ = timed ? reference_s : 0;
    std::vector<double> fractions;
    for (const Share& share : shares)
      fractions.push_back(timed
                              ? share.exposed_s / reference_s
                              : static_cast<double>(share.end - share.begin) / static_cast<double>(shares.back().end));
    return fractions;
  }

  // Logs where events live as soon as this is more than one place, or the disk.
  void report(Context& context) {
    context.report("events_kept", store_.in_words());
    const int worth_saying = store_.places_used() + (store_.bytes_in(EventStore::Place::disk) > 0 ? 1 : 0);
    if (worth_saying <= said_) return;
    said_ = worth_saying;
    context.log().info(fmt::format("events are kept where there is room: {}", store_.in_words()));
  }

  Params p_;
  EventStore store_;
  SubsetCutter cutter_;
  SubsetQuantity quantity_;  // where the whole stream is cut at the end; otherwise the cutter has it
  double reference_s_ = 0;   // of the whole stream, once it has ended; 0: it states no time
  int said_ = 1;             // the last worth_saying that was logged
  std::vector<EventBatch> waiting_;
  std::vector<MessageInfo> came_;  // with which message each of them came
  SubsetData data_;                // of the subsets that the cutter ends
  EmptiedTime emptied_;
  std::optional<bool> delayed_;  // whether the events are delayeds
  OfflineUpdates<EventBatch> updates_;
};

TOFSTREAM_GADGET(SubsetBuilder, "subset_builder",
                 "Groups sorted events into subsets in time order and replays them for each iteration");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
