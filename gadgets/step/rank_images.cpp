// Images between processes: see rank_images.hpp.
#include "gadgets/step/rank_images.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "kernels/collective/mpi.hpp"

namespace tofstream {

namespace {

std::unique_ptr<RankTransport> image_transport(const RankImagesPlace& place, int rank, int ranks) {
  // The others give up later, so that the first's error, which knows their hosts, is the run's.
  constexpr std::chrono::seconds patience{60}, later{10};
  if (place.by == ImagesBy::nccl)
    return make_nccl_transport(place.id, rank, ranks, rank == 0 ? patience : patience + later);
  if (place.by != ImagesBy::mpi) throw std::logic_error("images in messages have no transport");
  begin_mpi(rank, ranks);
  return make_mpi_transport(static_cast<int>(place.tag), rank, ranks);
}

}  // namespace

RankImages::RankImages(const RankImagesPlace& place, int rank, int ranks, int parts, std::int64_t voxels)
    : by_(place.by),
      transport_(image_transport(place, rank, ranks)),
      voxels_(voxels),
      sums_(*transport_, parts, voxels, by_ == ImagesBy::nccl ? Memory::device : Memory::host) {
  wait_for_own();  // what was allocated is used on another stream
}

void RankImages::send_estimate(const float* estimate) {
  wait_for_own();  // it is there
  transport_->send_to_all(estimate, voxels_);
}

void RankImages::receive_estimate(float* estimate, const std::function<void()>& progressed) {
  wait_for_own();  // nothing reads the one before any more
  transport_->receive_from_first(estimate, voxels_);
  wait([] {}, progressed);
}

void RankImages::add_up(std::span<float* const> own, const std::function<void()>& go_on,
                        const std::function<void()>& progressed) {
  wait_for_own();  // the sums are there
  sums_.queue(own);
  wait(go_on, progressed);
}

void RankImages::wait(const std::function<void()>& go_on, const std::function<void()>& progressed) {
  std::int64_t seen = transport_->progress();
  transport_->wait([&] {
    if (std::exchange(seen, transport_->progress()) != seen) progressed();
    go_on();
  });
}

// What this process's own GPU still does.
void RankImages::wait_for_own() const {
  if (by_ == ImagesBy::nccl) synchronize(nullptr);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
