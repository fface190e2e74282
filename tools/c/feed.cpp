// A running pipeline's data from this process: see feed.hpp.
#include "tools/c/feed.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/gadget/registry.hpp"
#include "gadgets/stream_ends.hpp"
#include "tools/c/guard.hpp"

namespace tofstream::c_api {

bool Feed::has_room(std::chrono::duration<double> wait) {
  std::unique_lock lock(mutex_);
  return went_.wait_for(lock, wait, [&] { return is_open(); });
}

bool Feed::put(Fed batch) {
  std::unique_lock lock(mutex_);
  if (is_closed_) throw Wrong("the feed was closed before: nothing more can be sent");
  went_.wait(lock, [&] { return is_open(); });
  if (is_left_) return false;
  waiting_bytes_ += batch.bytes;
  waiting_.push_back(std::move(batch));
  came_.notify_one();
  return true;
}

void Feed::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  came_.notify_all();
}

std::optional<Fed> Feed::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  came_.wait(lock, stop, [&] { return is_closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return std::nullopt;
  Fed batch = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= batch.bytes;
  went_.notify_all();
  return batch;
}

void Feed::leave() {
  const std::lock_guard lock(mutex_);
  is_left_ = true;
  waiting_.clear();
  went_.notify_all();
}

namespace {

class FeedSource final : public GadgetInstance {
 public:
  explicit FeedSource(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}

  void run(EmitTarget& target, const std::stop_token& stop, Context& context, const void*) override {
    const Leaving leaving{*feed_};
    Emit<LiveStream> emit(target);
    const StreamOutlet outlet{emit, context, {}};
    context.say_waiting("waiting for the program that is to send");
    double scan_s = 0;
    while (auto batch = context.wait_outside([&] { return feed_->take(stop); })) {
      context.say_waiting("");
      if (batch->data.events) outlet.require_reader("events", "events of the program");
      if (batch->data.views) outlet.require_reader("views", "views of the program");
      context.books().received(batch->events);
      if (batch->seconds > 0) context.report("scan_s", scan_s += batch->seconds);
      emit(std::move(batch->data));
    }
  }

 private:
  struct Leaving {
    Feed& feed;
    ~Leaving() { feed.leave(); }
  };

  const std::shared_ptr<Feed> feed_;
};

std::string takers_of(const Pipeline& pipeline) {
  std::string names;
  for (const PipelineGadget& gadget : pipeline.gadgets)
    if (gadget.info->stream_end == takes_live_stream) names += (names.empty() ? "" : ", ") + gadget.name;
  return names;
}

}  // namespace

void connect_feed(Pipeline& pipeline, const std::string& name, const std::shared_ptr<Feed>& feed) {
  const auto found = std::ranges::find(pipeline.gadgets, name, &PipelineGadget::name);
  if (found == pipeline.gadgets.end() || found->info->stream_end != takes_live_stream) {
    const std::string takers = takers_of(pipeline);
    throw Wrong(fmt::format(
        "feed is '{}', which is no gadget of '{}' that takes a live stream; {}", name, pipeline.name,
        takers.empty() ? "it has none: give it a " + gadgets_at(takes_live_stream) : "these do: " + takers));
  }
  auto info = std::make_shared<GadgetInfo>(*found->info);
  info->construct = [feed](const std::shared_ptr<const void>&, Context&) { return std::make_unique<FeedSource>(feed); };
  found->info = info.get();
  found->specialised = std::move(info);
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
