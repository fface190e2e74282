// Ranks and parts: see division.hpp.
#include "gadgets/step/division.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/ranks/rank_group.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

namespace {

// A process has the GPU of its number on its host.
int ranks_of(const RankGroup& group, const RankParams& params, Backend backend) {
  if (params.ranks > 1 && params.ranks != group.ranks())
    throw std::invalid_argument(fmt::format("ranks: {} contradicts the {} processes that this run has: leave it out",
                                            params.ranks, group.ranks()));
  for (int rank = 0; backend == Backend::cuda && rank < group.ranks(); ++rank)
    if (const RankIdentity& identity = group.identity(rank); group.number_on_host(rank) >= identity.gpus)
      throw std::invalid_argument(
          fmt::format("rank {} needs GPU {} of {}, which has {}: start fewer ranks there, or "
                      "write --backend cpu",
                      rank, group.number_on_host(rank), identity.host, identity.gpus));
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

Division division_of(const RankParams& params, BackendChoice backend, bool deterministic) {
  const RankGroup* group = rank_group();
  const Backend where = group || params.ranks != 1 ? resolve(backend) : Backend::cpu;
  Division division{.ranks = group ? ranks_of(*group, params, where) : ranks_of(params, where),
                    .are_processes = group != nullptr};
  division.parts = params.parts;
  if (division.parts == 0)
    division.parts =
        deterministic && division.ranks > 1 ? std::max(usual_deterministic_parts, division.ranks) : division.ranks;
  if (division.parts < division.ranks)
    throw std::invalid_argument(
        fmt::format("rank_parts: {} leaves nothing for {} of {} ranks: write rank_parts: {} or more", division.parts,
                    division.ranks - division.parts, division.ranks, division.ranks));
  return division;
}

int images_of_parts(const RankParams& params, bool deterministic) {
  const int ranks = std::max(params.ranks, 1);
  if (params.parts <= 1 && params.ranks == 1) return 0;
  const int parts = params.parts > 0 ? params.parts : (deterministic ? usual_deterministic_parts : ranks);
  return (parts + ranks - 1) / ranks;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
