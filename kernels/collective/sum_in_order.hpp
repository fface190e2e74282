// The sum of images that several ranks hold, in the order of the images, so that it has the same bits for any number of
// ranks. Image p of `parts` lies on rank p mod ranks. Each rank adds up one slab of all of them and gives it to the first
// rank: so a rank sends and receives no more than two images' numbers where each has one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/collective/rank_transport.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/parts.hpp"

namespace tofstream {

class SumInOrder {
 public:
  /// Adds up images of `count` numbers in one kind of memory, where it allocates bytes(). `transport` outlives it.
  SumInOrder(RankTransport& transport, int parts, std::int64_t count, Memory memory);

  /// own[i]: this rank's image number rank + i ranks. On the first rank own[0] becomes the sum of all images; the others
  /// stay as they are. Queued; complete once the transport has waited.
  void queue(std::span<float* const> own);

  /// What a rank keeps of the others' images while it adds up its slab.
  static std::size_t bytes(int ranks, int parts, std::int64_t count);

 private:
  Part slab_of(int rank) const { return {rank, transport_.ranks()}; }
  std::int64_t first_of(int rank) const { return slab_of(rank).first(count_); }
  std::int64_t size_of(int rank) const { return slab_of(rank).size(count_); }

  RankTransport& transport_;
  int parts_;
  std::int64_t count_;
  Buffer<float> received_;  // a slab of each image of other ranks, in the order of the images
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
