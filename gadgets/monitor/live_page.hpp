// The live page of a run: takes estimates and shows them, with the run's figures, to whoever watches, at a pace of its
// own. Who gives an estimate never waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/even_series.hpp"
#include "core/base/latency.hpp"
#include "core/gadget/context.hpp"
#include "core/run/run_control.hpp"
#include "gadgets/io/page/estimate_message.hpp"
#include "gadgets/monitor/run_messages.hpp"
#include "gadgets/monitor/web_server.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

struct LivePageSettings {
  WebSettings web;
  bool may_steer = true;
  std::size_t most_voxels = 4'000'000;  // of an image that is sent
  std::size_t past = 40;                // estimates that are kept, at least 2
};

class LivePage {
 public:
  static constexpr std::size_t most_past_voxels = std::size_t{1} << 18U;  // of each past estimate

  /// Listens and shows the run's figures from now on. Throws as WebServer does. `run` outlives it.
  LivePage(const LivePageSettings& settings, RunControl& run, Logger log);

  /// "http://127.0.0.1:8080/"
  std::string url() const;
  void set_frames_per_second(double frames) { frames_per_second_ = frames; }
  /// The newest estimate; one that has not been shown yet goes.
  void take(std::shared_ptr<const Estimate> estimate, const MessageInfo& info);
  /// Shows the last estimate as final and waits, for a short while, until everybody has it. No estimate follows.
  void finish();

  /// Images that were published; and from the entry of an image's last data into the program until a page had drawn it,
  /// of images that stem from data which none before did.
  std::uint64_t images() const;
  LatencyFigures shown() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Taken {
    std::shared_ptr<const Estimate> estimate;
    MessageInfo info;
    std::uint32_t number = 0;
  };
  struct Past {
    PastEstimate entry;
    WebBytes message;
  };

  void work(const std::stop_token& stop);
  void publish_image(const Taken& taken, bool is_final);
  void publish_state(bool has_ended);
  std::optional<WebFile> file(std::string_view path) const;
  void note_shown(std::uint32_t number);
  LatencyFigures shown_locked() const;
  void note_data(const RunReport& report);
  // Since data began to come, as far as is known; else 0.
  double scan_seconds() const;

  const LivePageSettings settings_;
  RunControl& run_;
  const Logger log_;
  const std::map<std::string, WebFile, std::less<>> files_;
  std::atomic<double> frames_per_second_ = 10;

  mutable std::mutex mutex_;
  std::optional<Clock::time_point> data_began_;
  std::condition_variable_any wake_;
  std::uint64_t end_event_ = 0;  // of the events that the latest estimate was made from
  std::optional<Taken> waiting_, last_;
  std::uint32_t taken_ = 0;
  std::uint64_t images_ = 0;
  bool has_warned_ = false;
  EvenSeries<Past> past_;                                                 // by the number of images
  EvenSeries<CountSample> counts_{600, 0.4};                              // by seconds: each state's at first
  std::deque<std::pair<std::uint32_t, Clock::time_point>> on_their_way_;  // images: number, entry of their last data
  Clock::time_point newest_data_{};
  LatencyHistogram shown_;

  std::unique_ptr<WebServer> server_;
  std::jthread worker_;  // last: ended first
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
