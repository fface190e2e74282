// Images between processes: see rank_images.hpp.
#include "gadgets/step/rank_images.hpp"

namespace tofstream {

RankImages::RankImages(const RankImagesPlace& place, int rank, int ranks, int parts, std::int64_t voxels)
    : transport_(make_nccl_transport(place.id, rank, ranks)),
      voxels_(voxels),
      sums_(*transport_, parts, voxels, Memory::device) {
  synchronize(nullptr);  // what was allocated is used on another stream
}

void RankImages::send_estimate(const float* estimate) {
  synchronize(nullptr);  // it is there
  transport_->send_to_all(estimate, voxels_);
}

void RankImages::receive_estimate(float* estimate) {
  synchronize(nullptr);  // nothing reads the one before any more
  transport_->receive_from_first(estimate, voxels_);
  transport_->wait([] {});
}

void RankImages::add_up(std::span<float* const> own, const std::function<void()>& go_on) {
  synchronize(nullptr);  // the sums are there
  sums_.queue(own);
  transport_->wait(go_on);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
