// Frames between the thread that receives them and the one that decodes them: in memory while there is room, else in a
// file, so that a slow pipeline neither holds up a sender nor loses a frame.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/spill_file.hpp"
#include "gadgets/wire/raw_frame.hpp"

namespace tofstream {

class FrameQueue {
 public:
  struct Settings {
    std::size_t memory_bytes = 0;        // of frames that wait
    std::filesystem::path spill_folder;  // where the rest waits; empty: the system's folder for temporary files
    std::function<void(std::string_view)> warn;
  };
  struct Figures {
    std::uint64_t spilled_frames = 0, spilled_bytes = 0;
    std::uint64_t most_frames = 0, most_bytes = 0;  // that waited at a time
    bool held_back = false;                         // a sender waited for the pipeline, since the disk was full
  };
  using Clock = std::chrono::steady_clock;

  explicit FrameQueue(Settings settings) : settings_(std::move(settings)) {}

  /// Puts a frame behind the others. Where memory has no room, its bytes are read again from `kept`, where a journal
  /// has them, or else written to a spill file; a file that fails is warned of once, and from then on the call waits
  /// for room, until the stop: the frame is then put all the same.
  void put(RawFrame frame, std::optional<FilePlace> kept, const std::stop_token& stop);
  /// No more comes; where there is a cause, take() throws it behind the last frame.
  void close(std::exception_ptr cause = {});

  /// The oldest frame, once there is one; none at the deadline, or where nothing is left after close().
  std::optional<RawFrame> take(const std::optional<Clock::time_point>& deadline);
  /// After close(), and nothing is left.
  bool is_over() const;
  Figures figures() const;

 private:
  struct Stored {
    FilePlace place;
    SpillPiece spilled;  // empty where the place is in a journal
    std::uint64_t ingress_ns = 0;
    Clock::time_point entered;
  };
  using Item = std::variant<RawFrame, Stored>;

  bool has_room(std::size_t bytes) const { return memory_ == 0 || memory_ + bytes <= settings_.memory_bytes; }
  Item stored_or_held_back(RawFrame frame, std::optional<FilePlace> kept, std::unique_lock<std::mutex>& lock,
                           const std::stop_token& stop);
  SpillPiece spill(const RawFrame& frame);
  static RawFrame read(const Stored& stored);

  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::condition_variable_any went_;
  std::deque<Item> items_;
  std::size_t memory_ = 0;   // bytes of frames that wait in memory
  std::uint64_t bytes_ = 0;  // of all that wait
  bool is_closed_ = false;
  std::exception_ptr cause_;
  Figures figures_;

  // The thread that puts alone has them.
  std::shared_ptr<SpillFile> file_;
  bool file_failed_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
