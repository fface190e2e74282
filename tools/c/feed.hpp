// Data that a running pipeline takes from this process: they wait here, as many bytes as there is room for, in place of
// a gadget that takes a live stream.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/pipeline/pipeline.hpp"
#include "gadgets/wire/stream_content.hpp"

namespace tofstream::c_api {

/// One batch: events, or views.
struct Fed {
  LiveStream data;
  std::uint64_t events = 0;
  std::size_t bytes = 0;
  double seconds = 0;  // of the scan
};

class Feed {
 public:
  /// Whether there is room, once there is or after so long; there is where nobody takes any more.
  bool has_room(std::chrono::duration<double> wait);
  /// Waits for room. False: the run takes no more.
  bool put(Fed batch);
  /// No more data come.
  void close();

  /// The run's end: the next batch, once there is one; none after the last one. After a stop those that wait are still
  /// given.
  std::optional<Fed> take(const std::stop_token& stop);
  /// Nobody takes any more.
  void leave();

 private:
  bool is_open() const { return is_left_ || waiting_bytes_ < most_bytes; }

  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  std::mutex mutex_;
  std::condition_variable_any came_, went_;
  std::deque<Fed> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_closed_ = false, is_left_ = false;
};

/// Puts the feed in the place of the gadget of this name. Throws Wrong where it does not take a live stream.
void connect_feed(Pipeline& pipeline, const std::string& gadget, const std::shared_ptr<Feed>& feed);

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
