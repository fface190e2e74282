// What passes between the server and one client's run: the client's frames in, the run's images out. Both are bounded:
// a slow run holds back only its client, and a slow client only its run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "gadgets/wire/raw_frame.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

class SessionLink {
 public:
  struct Settings {
    std::size_t window_bytes = 0;  // of frames that the client may send ahead of the run
    Images images = Images::newest;
    std::function<void()> wake;  // called from the run's threads when there is something for the server
  };
  explicit SessionLink(Settings settings) : settings_(std::move(settings)) {}

  /// The server's end. False if the client sends more than it was granted.
  bool put(RawFrame frame);
  /// No more frames come.
  void close();
  /// Bytes that the run has taken since the last call, for which the client gets new credit.
  std::uint64_t take_credit();
  /// The oldest waiting image, as a message.
  std::optional<std::vector<std::byte>> next_image();

  /// The run's end. Waits for the next frame; none if no more come. After a stop the frames already there are still
  /// given.
  std::optional<RawFrame> take(const std::stop_token& stop);
  /// Whether the client wants this image.
  bool wants(bool is_final) const { return is_final || settings_.images != Images::last; }
  /// An image for the client, as a message. If the client wants every image, this waits until there is room or until
  /// the stop.
  void put_image(std::vector<std::byte> message, const std::stop_token& stop);

 private:
  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable_any came_, went_;
  std::deque<RawFrame> frames_;
  std::size_t untaken_ = 0;  // bytes of waiting frames
  std::uint64_t credit_ = 0;
  bool is_closed_ = false;
  std::deque<std::vector<std::byte>> images_;
};

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
