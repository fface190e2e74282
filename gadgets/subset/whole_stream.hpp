// Events of a scan, or of a frame of it, which are cut into subsets once all of them have come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gadgets/subset/emptied_time.hpp"
#include "gadgets/subset/offline_updates.hpp"
#include "gadgets/subset/subset_cutter.hpp"

namespace tofstream {

/// How the whole stream is cut into subsets.
enum class SubsetCut { time, interleaved };
constexpr auto enum_names(SubsetCut) {
  return names(SubsetCut::time, "time", SubsetCut::interleaved, "interleaved");
}
inline constexpr auto* subset_cut_words =
    "With `subsets`: time: consecutive events each; interleaved: each of K subsets has every K-th event, so that it "
    "covers the whole scan and stands for an equal share";

struct WholeStreamSettings {
  int subsets = 1;  // or fewer: none is without an event, or has fewer than least_events
  SubsetCut cut = SubsetCut::time;
  std::int64_t least_events = 0;
  double reference_s = 1;  // scan time that the image counts decays of; 0: the whole stream's
};

class WholeStream {
 public:
  explicit WholeStream(const WholeStreamSettings& settings) : settings_(settings) {}

  /// One more batch, which came with this message.
  void take(EventBatch batch, const MessageInfo& message, EventStore& store);
  /// The stream has ended: its subsets go to `updates`, which sends them.
  void cut(OfflineUpdates<EventBatch>& updates, EventStore& store, Emit<EventSubset>& emit, Context& context);
  /// The same for another who takes the subsets: first begin(), then take() of each, with the messages of its data.
  using Begin = std::function<void(int subsets, Conditions mean)>;
  using Take = std::function<void(StoredEvents subset, const MessageInfo& data)>;
  void cut(EventStore& store, const Begin& begin, const Take& take);
  /// What an image of all that has come shows.
  std::shared_ptr<const Quantity> quantity() { return quantity_.get(reference_s_); }
  bool is_empty() const { return waiting_.empty(); }
  /// What has come and is not cut yet: how many subsets it makes, its events, and their messages. Not for an empty one.
  int subsets() const { return static_cast<int>(equal_shares().size()); }
  std::uint64_t event_count() const;
  MessageInfo data() const { return data_between(came_.front(), came_.back()); }

 private:
  // A subset's share of the whole stream: events up to `end`, and their time.
  struct Share {
    std::int64_t begin = 0, end = 0;
    double seconds = 0, exposed_s = 0;
  };

  void cut_by_time(const std::vector<Share>& shares, EventStore& store, const Take& take);
  void deal_out(const std::vector<Share>& shares, EventStore& store, const Take& take);
  std::vector<Share> equal_shares() const;
  std::vector<double> share_reference_time(const std::vector<Share>& shares);

  WholeStreamSettings settings_;
  std::vector<EventBatch> waiting_;
  std::vector<MessageInfo> came_;  // with which message each of them came
  SubsetQuantity quantity_;
  EmptiedTime emptied_;
  double reference_s_ = 0;  // once the stream has ended; 0: it states no time
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
