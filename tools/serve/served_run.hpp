// One client's run: an engine on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/run/engine.hpp"
#include "tools/serve/session_link.hpp"
#include "tools/watch/report_html.hpp"

namespace tofstream::serve {

class ServedRun {
 public:
  /// Begins at once; `ended` is called from the run's thread when the run is over.
  ServedRun(Pipeline pipeline, EngineOptions options, std::function<void()> ended)
      : engine_(std::move(pipeline), options),
        thread_([this, output_dir = std::move(options.output_dir), ended = std::move(ended)] {
          report_ = engine_.run();
          end_with_report_html(report_, output_dir);
          is_over_ = true;
          ended();
        }) {}

  ~ServedRun() {
    if (!is_over_) engine_.abort();
  }
  ServedRun(const ServedRun&) = delete;
  ServedRun& operator=(const ServedRun&) = delete;

  bool is_over() const { return is_over_; }
  /// Call it once the run is over.
  const RunReport& report() const { return report_; }
  RunReport snapshot() const { return engine_.snapshot(); }
  void request_stop() { engine_.request_stop(); }
  void abort() { engine_.abort(); }

 private:
  Engine engine_;
  RunReport report_;
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
