// The frames, or gates, that processes share (gadgets/ranks/frame_groups.hpp), as the gadget that cuts them
// sees it: which it sends to its projector, which it leaves to others, and whose images it waits for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ranks/frame_groups.hpp"
#include "gadgets/subset/pass_params.hpp"
#include "gadgets/subset/recalled_frames.hpp"
#include "gadgets/subset/store_params.hpp"
#include "gadgets/subset/whole_stream.hpp"

namespace tofstream {

inline constexpr int most_groups = 64;
inline constexpr auto* groups_words =
    "Processes that share the images: each image is reconstructed by one of them. tofstream run starts them beside "
    "itself, or mpirun, srun and --rank do, with one process more, which collects";

/// What gadgets that cut a scan into frames or gates declare alike; their own parameters come before these.
struct SharedFramesParams : PassParams {
  SubsetCut cut = SubsetCut::interleaved;
  std::int64_t least_events = 10'000;
  int groups = 1;
  std::filesystem::path resume_from;
  static constexpr auto params =
      describe(param<&SharedFramesParams::cut>(
                   "cut",
                   "interleaved: each of K subsets has every K-th event of its frame or gate, and stands for an equal "
                   "share of its time; time: consecutive events each, between which the tracer moves"),
               param<&SharedFramesParams::least_events>(
                   "least_events", at_least(0),
                   "A frame or gate by itself has fewer subsets where these would have fewer events each"),
               param<&SharedFramesParams::groups>("groups", range(1, most_groups), groups_words),
               param<&SharedFramesParams::resume_from>("resume_from", resume_frames_words)) +
      PassParams::params;
};

class SharedFrames {
 public:
  /// `groups`: as the pipeline says. `resume_from`: images that lie there are not made. `frames`: how many there are, 0:
  /// not known. Throws std::invalid_argument for more groups than frames.
  SharedFrames(int groups, const std::filesystem::path& resume_from, int frames);

  /// Whether this process collects: it sends all frames, as images that others make.
  bool collects() const { return groups_ && groups_->collects(); }
  /// Whether data of this frame need not be held here.
  bool skips(int frame) const;
  /// All data of the frame are there: whether it is reconstructed here. The process that collects takes none.
  bool takes(int frame) const;
  /// For the process that collects: waits for the image that a group makes. The last update, to be sent without data;
  /// nothing where the run is being stopped before the image is there, no group makes it, or it is of other data: the
  /// frame is then to be reconstructed here. Books the frame's events.
  std::optional<UpdateStep> image(const FrameToCome& frame, Context& context);
  /// How many images each group has made; says once where the groups that the pipeline asks for are not there.
  void report(Context& context);

 private:
  int wanted_;
  const FrameGroups* groups_;
  int recalled_ = 0;          // frames that a run before has made, from the first on: no group makes them
  std::vector<double> made_;  // by group
  bool has_told_ = false;
};

/// Where data are kept by a gadget whose frames may be shared: the process that collects leaves GPUs to others.
template <class Params>
DataStoreSettings shared_store_settings(const Params& p) {
  DataStoreSettings settings = store_settings(p);
  if (const FrameGroups* groups = frame_groups(); groups && groups->collects()) settings.backend = BackendChoice::cpu;
  return settings;
}

/// Whose checkpoints a gadget whose frames may be shared recalls: a group recalls none, since the process that collects
/// does.
inline std::filesystem::path recalled_here(const std::filesystem::path& resume_from) {
  const FrameGroups* groups = frame_groups();
  return groups && !groups->collects() ? std::filesystem::path() : resume_from;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
