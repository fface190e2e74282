// The projector of a probe: an event is a voxel, and every voxel is seen equally well.
#include <cmath>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"
#include "probe.hpp"

namespace probe {
namespace {

struct Inputs {
  std::shared_ptr<const EventSubset> events;
  std::shared_ptr<const Estimate> image;
  static constexpr auto inputs = ports(port<&Inputs::events>("events"), port<&Inputs::image>("image", feedback));
};

struct ProbeProjector {
  void process(const Inputs& inputs, Emit<Projected>& emit, Context& context) {
    const Image& image = *inputs.image->image;
    if (!sensitivity_) sensitivity_ = std::make_shared<const Image>(Image::filled(image.grid, 1));
    Image back = Image::zeros(image.grid);
    std::uint64_t outside = 0;
    for (const auto& batch : inputs.events->batches)
      for (std::int64_t i = 0; i < batch->count; ++i) {
        const std::int64_t voxel = voxel_of(image.grid, place_of(*batch, i));
        if (voxel < 0)
          ++outside;
        else if (image.voxels[voxel] > 0)
          back.voxels[voxel] += 1 / image.voxels[voxel];
      }
    if (inputs.events->event_count() > 0) {
      context.books().reconstructed(inputs.events->event_count() - outside);
      context.books().rejected(outside, "outside the image");
    }
    emit({.step = inputs.events->step,
          .back_projection = std::make_shared<const Image>(std::move(back)),
          .sensitivity = sensitivity_,
          .time_fraction = inputs.events->time_fraction,
          .tally = {}});
  }

 private:
  // -1 outside.
  static std::int64_t voxel_of(const Grid& grid, const Vec3& place) {
    const float from[] = {place.x - grid.origin_mm.x, place.y - grid.origin_mm.y, place.z - grid.origin_mm.z};
    const float edge[] = {grid.voxel_mm.x, grid.voxel_mm.y, grid.voxel_mm.z};
    std::int64_t voxel = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = std::lround(from[axis] / edge[axis]);
      if (at < 0 || at >= grid.size[axis]) return -1;
      voxel += at * grid.stride(axis);
    }
    return voxel;
  }

  std::shared_ptr<const Image> sensitivity_;
};
TOFSTREAM_GADGET(ProbeProjector, "probe_projector", "Projects a probe's events: each is a voxel");

}  // namespace
}  // namespace probe
// SPDX-License-Identifier: Apache-2.0
