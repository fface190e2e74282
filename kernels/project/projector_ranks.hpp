// A list-mode projector, and how to make the same once more on the other devices of the host, or that other processes
// have it, for work that several of them share.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "kernels/project/list_mode_projector.hpp"

namespace tofstream {

class RanksElsewhere;  // kernels/ring/sensitivity/sensitivity_rank.hpp

/// Waits until the work of rank `rank`, another than the first, has ended, and says so where it takes longer than
/// `patience`. The work uses what the caller holds, so the wait ends no sooner.
using WaitForRank =
    std::function<void(std::future<void>& working, int rank, std::chrono::steady_clock::duration patience)>;

/// Rank 0 is `first`, on the caller's thread and device; rank r is made by `another` on device r, where images lie on
/// devices, or is another process.
struct ProjectorRanks {
  // NOLINTNEXTLINE(google-explicit-constructor): a projector alone is one rank
  ProjectorRanks(ListModeProjector& first, int ranks = 1,
                 std::function<std::unique_ptr<ListModeProjector>()> another = {}, WaitForRank wait = {})
      : first(first), ranks(ranks), another(std::move(another)), wait(std::move(wait)) {}
  /// The others are processes.
  ProjectorRanks(ListModeProjector& first, RanksElsewhere& elsewhere, int ranks)
      : first(first), ranks(ranks), elsewhere(&elsewhere) {}
  // NOLINTNEXTLINE(google-explicit-constructor): for those who use one alone
  operator ListModeProjector&() const { return first; }

  ListModeProjector& first;
  int ranks;
  std::function<std::unique_ptr<ListModeProjector>()> another;  // called where ranks > 1 and are of this process
  WaitForRank wait;                                             // null: however long it takes
  RanksElsewhere* elsewhere = nullptr;  // the others where they are processes, which outlive this
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
