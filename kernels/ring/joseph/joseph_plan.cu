// The visits of Joseph's lines to tiles (joseph_tiled.cu). Compiled without contraction: see make_visits.cuh.
#include "kernels/project/tiled/make_visits.cuh"
#include "kernels/ring/joseph/joseph_family.cuh"

namespace tofstream {

namespace {

using single_lane::JosephLine;
using single_lane::JosephLines;

constexpr tiled::Reach reach{.low = 0, .high = 1, .margin = 1, .stores_margin = true};

template <bool may_clip>
struct PathOfLine {
  JosephLines lines;
  __device__ void prefetch(std::int64_t i) const { lines.events.prefetch(i); }
  __device__ tiled::Path operator()(std::int64_t i, int) const {
    const JosephLine line = single_lane::prepare_line<float, may_clip>(lines, i, 1);
    return {line.axis,        line.first,        line.last,   line.u.at_plane_0,
            line.u.step,      line.v.at_plane_0, line.v.step, line.offset.at_plane_0,
            line.offset.step, line.scale};
  }
};

}  // namespace

std::optional<tiled::Visits> JosephFamily::visits(const EventView& events, tiled::Workspace& workspace,
                                                  Stream stream) const {
  const double path = events.has_tof() ? 2.0 * (setup_.tof_cut_sigma * events.tof.sigma_mm) : 1e9;
  const tiled::Tiling tiling = tiled::make_tiling(setup_.grid, reach, path, workspace.words());
  JosephLines lines = JosephLines::make(setup_, events);
  lines.setup.inset = static_cast<double>(tiled::hair);  // otherwise a line without weight would get a hair's
  const auto made_of = [&](const auto& path_of) {
    return tiled::make_visits(tiling, path_of, events.count, workspace.plan_space(), stream);
  };
  return setup_.clipped ? made_of(PathOfLine<true>{lines}) : made_of(PathOfLine<false>{lines});
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
