// How a reconstruction is divided among the GPUs of a host.
#pragma once

#include "core/value/params.hpp"
#include "gadgets/parameters.hpp"

namespace tofstream {

/// What users say of it.
struct RankParams {
  int ranks = 1;
  int parts = 0;
};

/// `ranks` projectors, each on a device of its own, share `parts` parts of each subset: part p is projected by rank
/// p mod ranks, and sums of parts are added up in the order of the parts.
struct Division {
  int ranks = 1, parts = 1;
  bool are_processes = false;  // all but the first, of rank_group()
};

/// With deterministic sums the image does not depend on `ranks` as long as `parts` stays the same, which is why there
/// are so many parts for any number of ranks from two to this.
inline constexpr int usual_deterministic_parts = 8;

/// For a backend; ranks of a CPU share its cores. Where the run has other processes, they are the ranks. Looks for GPUs
/// only where there is to be more than one rank. Throws std::invalid_argument where there are fewer GPUs than ranks,
/// fewer parts than ranks, or another number of processes.
Division division_of(const RankParams& params, BackendChoice backend, bool deterministic);

/// Images that the first rank holds for the sums of parts, beside its projector's own: at most.
int images_of_parts(const RankParams& params, bool deterministic);

inline constexpr auto* ranks_words =
    "Projectors that share each subset, a GPU each: the parts of an image's back projection are added up. 0: as many "
    "as "
    "the host has GPUs. On a CPU they share its cores, which gains nothing";
inline constexpr auto* rank_parts_words =
    "Parts of a subset whose back projections are added up in order. With `deterministic`, images of any number of "
    "ranks "
    "are the same bit for bit where this is the same. 0: as many as ranks or, with `deterministic` and 2 to 8 of them, "
    "8";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
