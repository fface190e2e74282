// The ranks at a sensitivity, side by side: each on a thread of its own, with its projector, or as another process.
// Internal to the sensitivity.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "kernels/memory/device_thread.hpp"
#include "kernels/project/projector_ranks.hpp"
#include "kernels/ring/sensitivity/sensitivity_rank.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::detail {

struct RankAtWork {
  std::shared_ptr<SensitivityRank> rank;
  Image sum;               // of pairs or lines, in the memory of its projector; the first rank has none
  std::int64_t lines = 0;  // of the last sum
};

class RankWorkers {
 public:
  /// `first`: the first rank, on the caller's thread. Throws what a rank throws that is made.
  RankWorkers(const SensitivityWork& work, const ProjectorRanks& projectors, std::shared_ptr<SensitivityRank> first);
  ~RankWorkers();
  RankWorkers(const RankWorkers&) = delete;
  RankWorkers& operator=(const RankWorkers&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  RankAtWork& operator[](int rank) { return rank == 0 ? first_ : others_[static_cast<std::size_t>(rank) - 1]->at_work; }

  /// work(rank, what it has) for the first `ranks` of them; ends when all have ended, and then throws what the first
  /// that failed threw.
  void side_by_side(int ranks, const std::function<void(int, RankAtWork&)>& work);

 private:
  struct Other {
    explicit Other(int device) : thread(device) {}
    DeviceThread thread;
    std::unique_ptr<ListModeProjector> projector;  // null where it is another process
    RankAtWork at_work;
    std::future<void> working;
  };

  void add_others(const SensitivityWork& work, const ProjectorRanks& projectors);
  void wait_for(int rank, std::chrono::steady_clock::duration patience);
  template <class Wait>
  static void all_of(int ranks, const Wait& wait, std::exception_ptr failed);

  RankAtWork first_;
  WaitForRank wait_;
  RanksElsewhere* elsewhere_;
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
