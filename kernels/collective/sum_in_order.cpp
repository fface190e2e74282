// Slabs that are added up: see sum_in_order.hpp.
#include "kernels/collective/sum_in_order.hpp"

#include <stdexcept>

namespace tofstream {

namespace {

/// Images of rank 0 are the most that a rank has.
int images_of(int rank, int ranks, int parts) {
  return (parts - rank + ranks - 1) / ranks;
}

}  // namespace

std::size_t SumInOrder::bytes(int ranks, int parts, std::int64_t count) {
  const std::int64_t largest_slab = (count + ranks - 1) / ranks;
  const int others = parts - images_of(ranks - 1, ranks, parts);  // of who has the fewest
  return sizeof(float) * static_cast<std::size_t>(others * largest_slab);
}

SumInOrder::SumInOrder(RankTransport& transport, int parts, std::int64_t count, Memory memory)
    : transport_(transport), parts_(parts), count_(count) {
  const int rank = transport.rank(), ranks = transport.ranks();
  if (parts < ranks) throw std::logic_error("fewer images than ranks are to be added up");
  received_ = Buffer<float>(memory, (parts - images_of(rank, ranks, parts)) * size_of(rank));
}

void SumInOrder::queue(std::span<float* const> own) {
  const int rank = transport_.rank(), ranks = transport_.ranks();
  const std::int64_t size = size_of(rank), first = first_of(rank);
  if (std::ssize(own) != images_of(rank, ranks, parts_))
    throw std::logic_error("a rank adds up other images than it has");
  const auto none = [](std::int64_t count) { return count == 0; };  // a slab of fewer numbers than ranks

  std::vector<Parcel> sent, received;
  std::vector<const float*> slabs;  // of all images
  for (int other = 0; other < ranks; ++other)
    for (float* const image : own)
      if (other != rank && !none(size_of(other))) sent.push_back({image + first_of(other), size_of(other), other});
  float* to = received_.data();
  for (int part = 0; part < parts_; ++part) {
    if (part % ranks == rank) {
      slabs.push_back(own[static_cast<std::size_t>(part / ranks)] + first);
      continue;
    }
    slabs.push_back(to);
    if (!none(size)) received.push_back({to, size, part % ranks});
    to += size;
  }
  transport_.exchange(sent, received);

  // The first image's slab becomes the sum: on the first rank where it lies, elsewhere in what was received.
  float* const sum = rank == 0 ? own[0] + first : received_.data();
  if (!none(size))
    for (std::size_t part = 1; part < slabs.size(); ++part) transport_.add(sum, slabs[part], size);

  sent.clear(), received.clear();
  if (rank > 0 && !none(size)) sent.push_back({sum, size, 0});
  for (int other = 1; rank == 0 && other < ranks; ++other)
    if (!none(size_of(other))) received.push_back({own[0] + first_of(other), size_of(other), other});
  transport_.exchange(sent, received);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
