// The frames, or gates, that a run which was killed had completed: their images come from its checkpoints, and none is
// reconstructed again. What it had begun begins anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/gadget.hpp"
#include "gadgets/io/checkpoint.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

inline constexpr auto* resume_frames_words =
    "Folder of a run that was killed: what its checkpoints have is not reconstructed again";

/// What a frame's reconstruction would be.
struct FrameToCome {
  ScanFrame frame;
  int frames = 0;  // that were asked for, whether or not the scan has them; 0: as many as its events make
  int gate = 0;
  int subsets = 0, iterations = 0;
  std::int64_t updates_before = 0;  // its own
  std::uint64_t events = 0;
};

/// The last update of a frame whose image a checkpoint has, to be sent without data.
UpdateStep recalled_step(const FrameToCome& frame, const CheckpointStep& step);

class RecalledFrames {
 public:
  /// `folder` empty: none. Throws std::runtime_error where the run there made one image and not several.
  explicit RecalledFrames(std::filesystem::path folder);

  /// The last update of a frame, to be sent without data: the update gives the image. Nothing from the first frame on
  /// that has no checkpoint, or one of a scan that ended within it. Books the frame's events. Throws
  /// std::runtime_error, which names the file, for a checkpoint of other frames, updates or data, and for a damaged one.
  std::optional<UpdateStep> recall(const FrameToCome& frame, Context& context);
  /// No further frame will be.
  bool is_over() const { return is_over_; }

 private:
  bool is_cut_short(const CheckpointStep& step, const FrameToCome& here) const;
  void require_same(const CheckpointStep& step, const FrameToCome& here) const;

  std::filesystem::path folder_;
  bool is_over_ = false;
  std::uint64_t events_ = 0, rejected_ = 0;  // of the frames so far
  std::int64_t frames_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
