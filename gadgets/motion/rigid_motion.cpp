// Events of an object that moves as a whole: each line is taken to where it ran through the object, so that the image
// is that of the object in one place. The poses are a table's.
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/io/motion/pose_table.hpp"
#include "gadgets/motion/event_placer.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {
namespace {

struct RigidMotion {
  struct Params : PlacingParams {
    std::filesystem::path file;
    PoseMaps maps = PoseMaps::object_to_scanner;
    double longest_s = 0;
  };
  static constexpr auto params =
      describe(param<&Params::file>("file", required, reads_file, pose_file_words),
               param<&Params::maps>("maps", required, pose_maps_words),
               param<&Params::longest_s>(
                   "longest_s", range(0, 1e9), unit("s"),
                   "A pose holds for so long at most; 0: until the next, and the last one to the end")) +
      PlacingParams::params;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) { return placing_memory(inputs); }

  explicit RigidMotion(const Params& p)
      : p_(p),
        rows_(formats::read_pose_table(p.file)),
        placer_(p, {.gadget = "rigid_motion", .source = p.file.string(), .complete = "complete the table"}) {}

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    if (!placer_.concerns(batch)) return emit(std::move(batch));
    placer_.check(batch);
    if (!timeline_) timeline_.emplace(rows_, p_.maps, timeline_settings(*batch.scanner, p_.longest_s, p_.tolerance_mm));
    placer_.place(std::move(batch), *timeline_, emit, context);
  }

 private:
  Params p_;
  std::vector<formats::TimedPose> rows_;
  EventPlacer placer_;
  std::optional<PoseTimeline> timeline_;  // once the scanner is known
};

TOFSTREAM_GADGET(RigidMotion, "rigid_motion",
                 "Takes the lines of events to where they ran through an object that moves as a whole");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
