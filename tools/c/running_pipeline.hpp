// A pipeline that runs on threads of its own, with this process at its ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/run/engine.hpp"
#include "tools/c/event_arrays.hpp"
#include "tools/c/feed.hpp"
#include "tools/c/output_tap.hpp"
#include "tools/c/progress_calls.hpp"
#include "tools/c/tofstream.h"

namespace tofstream::c_api {

class RunningPipeline {
 public:
  /// Throws Wrong for a pipeline, a feed or an output that cannot be.
  explicit RunningPipeline(const tof_pipeline_setup& setup);
  /// Aborts the run if it is not over.
  ~RunningPipeline();
  RunningPipeline(const RunningPipeline&) = delete;
  RunningPipeline& operator=(const RunningPipeline&) = delete;

  Engine& engine() { return *engine_; }
  OutputTap& images() { return *tap_; }
  /// Throws Wrong where the pipeline has none.
  Feed& feed();

  /// See tof_pipeline_send_events and tof_pipeline_send_views. Throw Wrong, and RunFailed where the run is over.
  void send(const tof_events& events, double start_s, double duration_s);
  void send(const tof_view_counts& views);

  /// Whether the run is over, once it is or after so long. Throws RunFailed where it failed.
  bool wait(std::chrono::duration<double> wait);
  /// As of now.
  RunReport state();
  /// Whether this is the thread on which the run's progress is told.
  bool is_told_here() const { return calls_ && calls_->is_this_thread(); }

 private:
  void run();
  void put(Fed batch);
  const RecordedBy& scanner(const char* name);
  std::shared_ptr<const ViewSet> plan(const tof_views& given);

  std::shared_ptr<Feed> feed_;  // null: none
  const std::shared_ptr<OutputTap> tap_ = std::make_shared<OutputTap>();
  std::unique_ptr<Engine> engine_;

  std::mutex sending_;  // what follows, to scanner_
  std::string scanner_name_;
  std::optional<RecordedBy> scanner_;
  std::shared_ptr<const ViewSet> plan_;

  std::mutex mutex_;
  std::condition_variable over_;
  std::optional<RunReport> ended_;
  std::unique_ptr<ProgressCalls> calls_;  // null: none
  std::thread thread_;
};

/// Reads and checks a pipeline, a name or a YAML file. Throws Wrong with the first problem.
Pipeline checked_pipeline(const char* pipeline, const char* const* settings, std::size_t count, const char* input);

/// Throws RunFailed where the run did not end well.
void require_success(const RunReport& report);

}  // namespace tofstream::c_api

struct tof_pipeline {
  tofstream::c_api::RunningPipeline run;
};
// SPDX-License-Identifier: Apache-2.0
