// One client of the server, from its hello to its last message. Used only by the server's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pipeline/memory_estimate.hpp"
#include "tools/serve/run_limits.hpp"
#include "tools/serve/served_run.hpp"
#include "tools/serve/session_link.hpp"

namespace tofstream::serve {

class Session {
 public:
  using Clock = std::chrono::steady_clock;
  using Bytes = std::vector<std::byte>;

  Session(std::string name, Pipeline pipeline, MemoryBounds host, MemoryBounds device,
          std::shared_ptr<SessionLink> link, const RunLimits& limits, std::vector<int> gpus)
      : name_(std::move(name)),
        pipeline_name_(pipeline.name),
        host_bytes_(host.at_least),
        device_bytes_(device.at_least),
        pipeline_(std::move(pipeline)),
        link_(std::move(link)),
        limits_(limits),
        gpus_(std::move(gpus)) {}

  const std::string& name() const { return name_; }
  const std::string& pipeline_name() const { return pipeline_name_; }
  std::size_t host_bytes() const { return host_bytes_; }
  /// What it needs on each of its GPUs, as the first one does.
  std::size_t device_bytes() const { return device_bytes_; }
  const std::vector<int>& gpus() const { return gpus_; }
  SessionLink& link() { return *link_; }

  void heard() { heard_ = Clock::now(); }
  Clock::duration silence() const { return Clock::now() - heard_; }

  bool is_waiting() const { return !run_ && !is_over_; }
  bool is_running() const { return run_ && !is_over_; }
  /// Nothing follows except what the outbox holds.
  bool is_over() const { return is_over_; }
  bool is_gone() const { return is_gone_; }

  /// Begins the run. `wake` is called from its threads.
  void start(EngineOptions options, std::function<void()> wake);
  void request_stop();
  void abort();
  /// The client is gone: nothing is sent, and its run is dropped.
  void vanish();
  /// Tells the client why, and drops the run. `another_may`: another server may take it.
  void fail(const std::string& why, bool another_may = false);

  /// Puts what the run has for its client into the outbox, and its end if it has ended. True if threads of the run are
  /// still in gadgets' code.
  bool pump();
  /// Tells the client its place in the queue, if it has changed.
  void tell_place(std::size_t place);
  /// Tells the client that its run begins, and how long a frame may be.
  void say_accepted(std::size_t largest_frame);
  void say(Bytes message) { outbox_.push_back(std::move(message)); }
  std::deque<Bytes>& outbox() { return outbox_; }

  nlohmann::ordered_json status() const;

 private:
  void look();
  nlohmann::ordered_json introduction() const;

  const std::string name_, pipeline_name_;
  const std::size_t host_bytes_, device_bytes_;
  std::optional<Pipeline> pipeline_;  // until the run begins
  const std::shared_ptr<SessionLink> link_;
  const RunLimits limits_;
  const std::vector<int> gpus_;
  std::unique_ptr<ServedRun> run_;
  Clock::time_point heard_ = Clock::now(), looked_{};
  std::size_t place_ = 0;
  bool is_over_ = false, is_gone_ = false, has_failed_ = false;
  std::deque<Bytes> outbox_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
