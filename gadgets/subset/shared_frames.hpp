// The frames, or gates, that processes of one host share (gadgets/ranks/frame_groups.hpp), as the gadget that cuts them
// sees it: which it sends to its projector, which it leaves to others, and whose images it waits for.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "gadgets/subset/recalled_frames.hpp"

namespace tofstream {

inline constexpr auto* groups_words =
    "Processes of this host that share the images: each image is reconstructed by one of them, and the first collects "
    "all. tofstream run starts them";

inline constexpr int most_groups = 64;

class SharedFrames {
 public:
  /// `groups`: as the pipeline says. `resume_from`: the first group takes what lies there. `frames`: how many there are,
  /// 0: not known. Throws std::invalid_argument for more groups than frames.
  SharedFrames(int groups, std::filesystem::path resume_from, int frames);

  /// Whether this process collects: it sends all frames, those of other groups as images.
  bool collects() const { return !groups_ || groups_->collects(); }
  /// Whether data of this frame need not be held here.
  bool skips(int frame) const;
  /// All data of the frame are there: whether it is reconstructed here. Every frame is asked for at most once.
  bool takes(int frame);
  /// Of a frame that another group reconstructs: waits for its image. The last update, to be sent without data; nothing
  /// where the run is being stopped before the image is there, or it is of other data: the frame is then to be
  /// reconstructed here. Books the frame's events.
  std::optional<UpdateStep> image(const FrameToCome& frame, Context& context) const;
  /// How many frames each group has taken; says once where the groups that the pipeline asks for are not there.
  void report(Context& context);

 private:
  int wanted_;
  std::filesystem::path resume_from_;
  const FrameGroups* groups_;
  std::vector<double> taken_;  // by group
  bool has_told_ = false;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
