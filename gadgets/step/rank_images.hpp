// Images of one gadget between the GPUs of several processes: the estimate on its way to all ranks, and the back
// projections of their parts on the way to the first one's sum. Each process has one, and makes the same calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/collective/nccl.hpp"
#include "kernels/collective/sum_in_order.hpp"

namespace tofstream {

/// How ranks join, as the first one tells the others.
struct RankImagesPlace {
  std::uint32_t is_used = 0;  // otherwise images go in messages
  NcclId id;
};

class RankImages {
 public:
  /// On the thread whose current device is the rank's, whose memory the images lie in. Waits for all ranks, without a
  /// deadline. Throws what make_nccl_transport() does.
  RankImages(const RankImagesPlace& place, int rank, int ranks, int parts, std::int64_t voxels);

  /// The first rank's side; the estimate must stay as it is until add_up() has returned.
  void send_estimate(const float* estimate);
  /// The others' side; complete on return.
  void receive_estimate(float* estimate);
  /// `own`: the sums of this rank's parts, in their order. On the first rank own[0] becomes the sum of all parts, in the
  /// order of the parts. `go_on`: see RankTransport::wait().
  void add_up(std::span<float* const> own, const std::function<void()>& go_on);

 private:
  std::unique_ptr<RankTransport> transport_;
  std::int64_t voxels_;
  SumInOrder sums_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
