// Poses that come while the scan runs: which are known, up to which time they are settled, and what a journal keeps of
// both, so that a replay places every event as the live run did.
//
// A time is settled once a pose of that time or later has come, the stream has ended, or somebody has waited long
// enough and closed it: whatever comes later for a closed time counts from its end on. Closings are decisions that
// depend on the clock, so they go into the journal between the frames, in the order in which both took effect.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gadgets/io/journal/writer.hpp"
#include "gadgets/io/motion/stated_pose.hpp"
#include "gadgets/io/wire/frame.hpp"
#include "gadgets/io/wire/stream_set.hpp"

namespace tofstream {

class LivePoses {
 public:
  using Clock = std::chrono::steady_clock;
  struct Figures {
    std::uint64_t poses = 0, late_poses = 0, closings = 0;
    std::uint64_t missing_frames = 0, bad_frames = 0, left_out_frames = 0;
    std::string first_bad = {};  // what was wrong with the first bad frame
  };

  /// `source`: where poses come from, for errors. `journal`: may be null.
  LivePoses(std::string source, std::shared_ptr<journal::Writer> journal);

  /// What the notes of a journal say, up to the entry of number `end`. Throws std::runtime_error, one line, as the
  /// reader does, and for poses that cannot be.
  void replay(const std::filesystem::path& journal, std::uint64_t end = std::numeric_limits<std::uint64_t>::max());
  /// A message as it came, into the journal and among the poses. Poses that are not in order of time or no rotation
  /// fail all that waits, now and later.
  void take(std::span<const std::byte> message, std::uint64_t ingress_ns);
  /// Nothing will come any more: all time is settled.
  void end();
  /// All that waits throws `cause`.
  void fail(std::exception_ptr cause);

  void throw_if_failed() const;
  /// Whether the time before `end_s` is settled; throws as above.
  bool is_settled(double end_s) const;
  /// Waits until it is, and closes it at the deadline; false where it is to wait no longer.
  bool settle(double end_s, Clock::time_point deadline, const std::stop_token& cancel);

  /// Poses that no other will replace, in order of time, each from when it counts: those that were not given before.
  std::vector<formats::StatedPose> take_final();
  /// All poses so far, as take_final gives them.
  std::vector<formats::StatedPose> all() const;
  /// The streams' own words; empty before a first header.
  std::string direction() const;
  formats::PoseForm form() const;
  Figures figures() const;

 private:
  void take_message(std::span<const std::byte> message, std::uint64_t ingress_ns);
  void take_frame(const wire::Frame& frame);
  void take_header(const wire::Frame& frame);
  void take_poses(const wire::Frame& frame);
  void add(formats::StatedPose pose);
  void close(double end_s);
  bool knows(double end_s) const;
  [[noreturn]] void refuse(const std::string& what) const;

  const std::string source_;
  const std::shared_ptr<journal::Writer> journal_;
  mutable std::mutex mutex_;  // also of the order of the journal's entries
  std::condition_variable_any came_;
  std::exception_ptr failure_;
  wire::StreamSet streams_;
  std::string direction_;
  std::optional<formats::PoseForm> form_;
  std::vector<formats::StatedPose> rows_;
  std::optional<double> stated_s_;  // time of the last pose, as it was stated
  std::size_t given_ = 0;
  double closed_s_ = -std::numeric_limits<double>::infinity();
  bool has_ended_ = false;
  Figures figures_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
