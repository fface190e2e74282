// Images of one gadget between several processes, otherwise than in messages: the estimate on its way to all ranks, and
// the back projections of their parts on the way to the first one's sum. Each process has one, and makes the same
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/collective/nccl.hpp"
#include "kernels/collective/sum_in_order.hpp"

namespace tofstream {

/// How images go.
enum class ImagesBy : std::uint32_t {
  messages,
  nccl,  // between GPUs
  mpi,   // between processes on CPUs
};

/// How ranks join, as the first one tells the others.
struct RankImagesPlace {
  ImagesBy by = ImagesBy::messages;
  std::uint32_t tag = 0;  // of this gadget's, by MPI
  NcclId id;              // by NCCL
};

class RankImages {
 public:
  /// `place.by` is no message. On the thread whose current device is the rank's, where images lie on one. Waits for all
  /// ranks, for a minute. Throws what make_nccl_transport() and begin_mpi() do.
  RankImages(const RankImagesPlace& place, int rank, int ranks, int parts, std::int64_t voxels);

  /// The first rank's side; the estimate must stay as it is until add_up() has returned.
  void send_estimate(const float* estimate);
  /// The others' side; complete on return. `progressed`: called for what has come, where that is known.
  void receive_estimate(float* estimate, const std::function<void()>& progressed);
  /// `own`: the sums of this rank's parts, in their order. On the first rank own[0] becomes the sum of all parts, in the
  /// order of the parts. `go_on`: see RankTransport::wait().
  void add_up(std::span<float* const> own, const std::function<void()>& go_on, const std::function<void()>& progressed);

  ImagesBy by() const { return by_; }

 private:
  void wait(const std::function<void()>& go_on, const std::function<void()>& progressed);
  void wait_for_own() const;

  ImagesBy by_;
  std::unique_ptr<RankTransport> transport_;
  std::int64_t voxels_;
  SumInOrder sums_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
