// Ranks and parts: see division.hpp.
#include "gadgets/step/division.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/gadget/memory.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "kernels/collective/sum_in_order.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

namespace {

int ranks_of(const RankGroup& group, const RankParams& params, Backend backend) {
  if (params.ranks > 1 && params.ranks != group.ranks())
    throw std::invalid_argument(fmt::format("ranks: {} contradicts the {} processes that this run has: leave it out",
                                            params.ranks, group.ranks()));
  if (backend == Backend::cuda) require_gpus(group);
  return group.ranks();
}

int ranks_of(const RankParams& params, Backend backend) {
  const int gpus = params.ranks != 1 && backend == Backend::cuda ? cuda_devices() : 0;
  if (gpus > 0 && params.ranks > gpus)
    throw std::invalid_argument(
        fmt::format("ranks: {} needs as many GPUs, and this host has {}: write ranks: {}, or 0 "
                    "for all there are",
                    params.ranks, gpus, gpus));
  return params.ranks > 0 ? params.ranks : std::max(gpus, 1);
}

}  // namespace

void require_gpus(const RankGroup& group) {
  for (int rank = 0; rank < group.ranks(); ++rank)
    if (const RankIdentity& identity = group.identity(rank); group.number_on_host(rank) >= identity.gpus)
      throw std::invalid_argument(
          fmt::format("rank {} needs GPU {} of {}, which has {}: start fewer ranks there, or write --backend cpu", rank,
                      group.number_on_host(rank), identity.host, identity.gpus));
}

Division division_of(const RankParams& params, BackendChoice backend, bool deterministic) {
  if (params.deal == Deal::measured && (deterministic || params.parts > 0))
    throw std::invalid_argument(
        "deal: measured moves the borders of parts, which deterministic and rank_parts keep where they are, so that an "
        "image has the same bits: leave out one or the other");
  const RankGroup* group = rank_group();
  const Backend where = group || params.ranks != 1 ? resolve(backend) : Backend::cpu;
  Division division{.ranks = group ? ranks_of(*group, params, where) : ranks_of(params, where),
                    .are_processes = group != nullptr};
  division.parts = params.parts;
  division.is_measured = params.deal == Deal::measured;
  if (division.parts == 0)
    division.parts =
        deterministic && division.ranks > 1 ? std::max(usual_deterministic_parts, division.ranks) : division.ranks;
  if (division.parts < division.ranks)
    throw std::invalid_argument(
        fmt::format("rank_parts: {} leaves nothing for {} of {} ranks: write rank_parts: {} or more", division.parts,
                    division.ranks - division.parts, division.ranks, division.ranks));
  return division;
}

RankMemory memory_of_ranks(const RankParams& params, bool deterministic, bool on_device, std::size_t image,
                           std::size_t projector) {
  const RankGroup* group = rank_group();
  const auto ranks = static_cast<std::size_t>(group ? group->ranks() : std::max(params.ranks, 1));
  const bool may_be_several = ranks > 1 || params.ranks == 0;
  auto parts = static_cast<std::size_t>(params.parts);
  if (parts == 0)
    parts = deterministic && may_be_several ? std::max<std::size_t>(usual_deterministic_parts, ranks) : ranks;
  const std::size_t sums_a_rank = (parts + ranks - 1) / ranks;
  const auto images = [&](std::size_t number) { return memory_product(number, image); };
  const std::size_t own = images(sums_a_rank - 1);
  const auto slabs = [&] {
    const auto voxels = static_cast<std::int64_t>(image / sizeof(float));
    return SumInOrder::bytes(static_cast<int>(ranks), static_cast<int>(parts), voxels);
  };
  if (on_device) {
    if (group && group->why_not_nccl().empty()) return {0, memory_sum(own, slabs())};
    const std::size_t added = may_be_several ? image : 0;  // at most
    return {group ? images(1 + ranks * sums_a_rank) : 0, memory_sum(own, added)};
  }
  // A sensitivity that they share has a sum of each other rank, and the message with it.
  if (group) {
    const std::size_t of_passes = group->why_not_mpi().empty() ? slabs() : images(ranks * sums_a_rank);
    return {memory_sum(own, std::max(of_passes, images(2 * (ranks - 1)))), 0};
  }
  return {memory_sum(own, memory_product(ranks - 1, memory_sum(projector, images(sums_a_rank)))), 0};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
