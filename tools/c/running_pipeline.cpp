// A pipeline beside its program: see running_pipeline.hpp.
#include "tools/c/running_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/shared_files.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/view_arrays.hpp"

namespace tofstream::c_api {
namespace {

std::filesystem::path file_of(const std::string& pipeline) {
  return pipeline.ends_with(".yaml") ? std::filesystem::path(pipeline) : find_shared("pipelines", pipeline);
}

std::string text_or_empty(const char* text) {
  return text ? text : "";
}

}  // namespace

Pipeline checked_pipeline(const char* pipeline, const char* const* settings, std::size_t count, const char* input) {
  require_given(pipeline, "pipeline");
  if (count > 0) require_given(settings, "settings");
  PipelineOptions options;
  for (std::size_t i = 0; i < count; ++i) {
    require_given(settings[i], "settings");
    options.sets.emplace_back(settings[i]);
  }
  if (input) options.input = input;
  try {
    return load_pipeline(file_of(pipeline), options);
  } catch (const ConfigErrors& errors) {
    throw Wrong(errors.problems().front().text());
  }
}

void require_success(const RunReport& report) {
  if (report.exit_code == 0) return;
  throw RunFailed(report.errors.empty() ? fmt::format("the run ended as {}", outcome(report))
                                        : report.errors.front().text());
}

RunningPipeline::RunningPipeline(const tof_pipeline_setup& setup) {
  require_given(setup.folder, "setup.folder");
  Pipeline pipeline = checked_pipeline(setup.pipeline, setup.settings, setup.setting_count, setup.input);
  if (setup.feed) {
    feed_ = std::make_shared<Feed>();
    connect_feed(pipeline, setup.feed, feed_);
  }
  connect_tap(pipeline, text_or_empty(setup.output), tap_);
  engine_ = std::make_unique<Engine>(std::move(pipeline), EngineOptions{.output_dir = setup.folder});
  if (setup.progress)
    calls_ = std::make_unique<ProgressCalls>(setup.progress, setup.progress_user, setup.progress_every_s,
                                             [this] { return state(); });
  thread_ = std::thread([this] { run(); });
}

RunningPipeline::~RunningPipeline() {
  if (calls_) calls_->stop();
  engine_->abort();
  thread_.join();
}

void RunningPipeline::run() {
  RunReport report = engine_->run();
  if (feed_) feed_->leave();  // a run that did not begin has no source that does
  {
    const std::lock_guard lock(mutex_);
    ended_ = std::move(report);
  }
  over_.notify_all();
  tap_->close();
  if (calls_) calls_->finish();
}

Feed& RunningPipeline::feed() {
  if (!feed_) throw Wrong("the run has no feed: name a gadget that takes a live stream in setup.feed");
  return *feed_;
}

void RunningPipeline::put(Fed batch) {
  if (!feed().put(std::move(batch)))
    throw RunFailed("the run is over and takes no more data: tof_pipeline_wait says how it ended");
}

const RecordedBy& RunningPipeline::scanner(const char* name) {
  if (!scanner_ || text_or_empty(name) != scanner_name_) {
    scanner_ = recorded_by(name);
    scanner_name_ = text_or_empty(name);
  }
  return *scanner_;
}

// In pieces of the size that the pipeline's other sources give, each with its share of the time.
void RunningPipeline::send(const tof_events& given, double start_s, double duration_s) {
  constexpr std::int64_t piece = 1 << 20;
  if (!std::isfinite(start_s)) throw Wrong(fmt::format("start_s is {}: it must be finite", start_s));
  if (!(duration_s > 0 && std::isfinite(duration_s)))
    throw Wrong(fmt::format("duration_s is {}: it must be positive", duration_s));
  const std::lock_guard lock(sending_);
  feed();
  const tof_events events = events_of(given);
  const RecordedBy& by = scanner(events.scanner);
  const EventView all = view_of(events, *by.scanner, Memory::host);
  for (std::int64_t begin = 0; begin < all.count; begin += piece) {
    const std::int64_t count = std::min(piece, all.count - begin);
    EventBatch batch = batch_of(all.slice(begin, count), by);
    const double a_event_s = duration_s / static_cast<double>(all.count);
    batch.start_s = start_s + static_cast<double>(begin) * a_event_s;
    batch.duration_s = static_cast<double>(count) * a_event_s;
    const std::size_t bytes = batch.bytes();
    const double seconds = batch.duration_s;
    put({{.events = std::make_shared<const EventBatch>(std::move(batch))},
         static_cast<std::uint64_t>(count),
         bytes,
         seconds});
  }
}

std::shared_ptr<const ViewSet> RunningPipeline::plan(const tof_views& given) {
  auto set = view_set_of(given);
  if (!plan_) return plan_ = std::move(set);
  if (!(*set == *plan_)) throw Wrong("plan is another than at the first call: a run takes the views of one scan");
  return plan_;
}

void RunningPipeline::send(const tof_view_counts& views) {
  require_given(views.plan, "views.plan");
  const std::lock_guard lock(sending_);
  feed();
  ViewBatch batch = batch_of(views, plan(*views.plan));
  const std::uint64_t events = batch.event_count();
  const std::size_t bytes = batch.bytes();
  put({{.views = std::make_shared<const ViewBatch>(std::move(batch))}, events, bytes, 0});
}

bool RunningPipeline::wait(std::chrono::duration<double> wait) {
  std::unique_lock lock(mutex_);
  if (!over_.wait_for(lock, wait, [&] { return ended_.has_value(); })) return false;
  require_success(*ended_);
  return true;
}

RunReport RunningPipeline::state() {
  const std::lock_guard lock(mutex_);
  return ended_ ? *ended_ : engine_->snapshot();
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
