// Ranks and parts: see division.hpp.
#include "gadgets/step/division.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/memory/devices.hpp"

namespace tofstream {

Division division_of(const RankParams& params, BackendChoice backend, bool deterministic) {
  const int gpus = params.ranks != 1 && resolve(backend) == Backend::cuda ? cuda_devices() : 0;
  Division division{.ranks = params.ranks > 0 ? params.ranks : std::max(gpus, 1)};
  if (gpus > 0 && division.ranks > gpus)
    throw std::invalid_argument(fmt::format("ranks: {} needs as many GPUs, and this host has {}: write ranks: {}, or 0 "
                                            "for all there are",
                                            division.ranks, gpus, gpus));
  division.parts = params.parts;
  if (division.parts == 0)
    division.parts = deterministic && division.ranks > 1 ? std::max(usual_deterministic_parts, division.ranks)
                                                         : division.ranks;
  if (division.parts < division.ranks)
    throw std::invalid_argument(fmt::format("rank_parts: {} leaves nothing for {} of {} ranks: write rank_parts: {} or more",
                                            division.parts, division.ranks - division.parts, division.ranks,
                                            division.ranks));
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
