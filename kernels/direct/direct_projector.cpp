// What projectors of histo-images share: see direct_projector.hpp.
#include "kernels/direct/direct_projector.hpp"

#include <algorithm>
#include <stdexcept>

namespace tofstream {

double farthest_voxel_mm(const Grid& grid) {
  double farthest = 0;
  for (const int x : {0, grid.size[0] - 1})
    for (const int y : {0, grid.size[1] - 1}) {
      const Vec3 at = grid.centre(x, y, 0);
      farthest = std::max(farthest, std::hypot(static_cast<double>(at.x), static_cast<double>(at.y)));
    }
  return farthest;
}

DirectProjector::DirectProjector(const Grid& grid, const ViewSet& set, const DirectSettings& settings, Backend backend)
    : grid_(grid),
      set_(set),
      settings_((validate(grid, set, settings), settings)),
      backend_(backend),
      profiles_(settings.kernel, farthest_voxel_mm(grid)) {
  for (const ViewPlace& place : set.places)
    frames_.push_back(ViewFrame::of(static_cast<double>(place.angle_deg), static_cast<double>(place.tilt_deg)));
}

void DirectProjector::require_views(const Views& views) const {
  if (views.views == 0) return;
  if (!(views.set->kind == set_.kind && std::equal(views.set->size, views.set->size + 3, set_.size) &&
        views.set->pixel_mm == set_.pixel_mm && views.set->places == set_.places))
    throw std::invalid_argument("histo-images of another grid, or of other views, than the projector was made for");
}

EmTally DirectProjector::em_step(const Views& views, const float* image, float* accumulator, Stream stream) {
  require_views(views);
  detail::require_counts(views);
  make_room(ratio_, memory_of(backend_), views.count, stream);
  forward(views, image, ratio_.data(), stream);
  if (backend_ == Backend::cpu) {
    const EmTally tally = view_ratio(views, ratio_.data(), Backend::cpu);
    back(views, ratio_.data(), accumulator, nullptr);
    return tally;
  }
  // Back projection is queued before anybody waits for the tally.
  sums_.begin(views);
  sums_.queue_ratio(views, ratio_.data(), stream);
  back(views, ratio_.data(), accumulator, stream);
  return sums_.tally(views, stream);
}

void DirectProjector::add_sensitivity(const Views& views, float* image, Stream stream) {
  require_views(views);
  make_room(ratio_, memory_of(backend_), views.count, stream);
  view_efficiencies(views, ratio_.data(), backend_, stream);
  back(views, ratio_.data(), image, stream);
}

Image DirectProjector::support() const {
  return Image::filled(grid_, 1);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
