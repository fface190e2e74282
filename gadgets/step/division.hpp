// How a reconstruction is divided among the GPUs of a host.
#pragma once

#include <cstddef>

#include "core/value/params.hpp"
#include "gadgets/parameters.hpp"

namespace tofstream {

class RankGroup;

enum class Deal { equal, measured };

constexpr auto enum_names(Deal) {
  return names(Deal::equal, "equal", Deal::measured, "measured");
}

/// What users say of it.
struct RankParams {
  int ranks = 1;
  int parts = 0;
  Deal deal = Deal::equal;
};

/// `ranks` projectors, each on a device of its own, share `parts` parts of each subset: part p is projected by rank
/// p mod ranks, and sums of parts are added up in the order of the parts.
struct Division {
  int ranks = 1, parts = 1;
  bool are_processes = false;  // all but the first, of rank_group()
  bool is_measured = false;    // parts are as large as their ranks are fast (dealing.hpp)
};

/// With deterministic sums the image does not depend on `ranks` as long as `parts` stays the same, which is why there
/// are so many parts for any number of ranks from two to this.
inline constexpr int usual_deterministic_parts = 8;

/// Throws std::invalid_argument where a process of the group has no GPU: it takes that of its number among those of its
/// host.
void require_gpus(const RankGroup& group);

/// For a backend; ranks of a CPU share its cores. Where the run has other processes, they are the ranks. Looks for GPUs
/// only where there is to be more than one rank. Throws std::invalid_argument where there are fewer GPUs than ranks,
/// fewer parts than ranks, or another number of processes, and where parts are to be measured that are to stay alike.
Division division_of(const RankParams& params, BackendChoice backend, bool deterministic);

/// Bytes that ranks need in the first one's process, and on its GPU, beside what one projector needs that is alone.
struct RankMemory {
  std::size_t host_bytes = 0, device_bytes = 0;
};

/// The memory that a division takes, for images of `image` bytes. `projector`: bytes of a further projector, which ranks
/// of a CPU have in the same memory. Counts, on the first rank's side: sums of its parts but the first; for ranks of
/// this process on a CPU a projector each, and sums of their parts; for ranks on GPUs what it adds up a sum with; for other processes (rank_group()) the
/// sums that came from them, one more rank's while they come (or what a sensitivity needs), and on a GPU the estimate
/// on the host, or where images go by NCCL or MPI slabs of the sums alone. Each other GPU, or process, has its
/// projector, an estimate, sums of its parts, and its part of the data and of their plans, which this does not count.
RankMemory memory_of_ranks(const RankParams& params, bool deterministic, bool on_device, std::size_t image,
                           std::size_t projector);

inline constexpr auto* ranks_words =
    "Projectors that share each subset, a GPU each: the parts of an image's back projection are added up. 0: as many "
    "as "
    "the host has GPUs. On a CPU they share its cores, which gains nothing";
inline constexpr auto* deal_words =
    "Parts of a subset: equal, or measured, as large as their ranks have been fast in the subsets before, where ranks "
    "are "
    "unlike. Not with `deterministic` or `rank_parts`, whose parts stay the same";
inline constexpr auto* rank_parts_words =
    "Parts of a subset whose back projections are added up in order. With `deterministic`, images of any number of "
    "ranks "
    "are the same bit for bit where this is the same. 0: as many as ranks or, with `deterministic` and 2 to 8 of them, "
    "8";

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
