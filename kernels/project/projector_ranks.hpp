// A list-mode projector, and how to make the same once more on the other devices of the host, for work that several of
// them share.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/memory/device_thread.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/project/list_mode_projector.hpp"

namespace tofstream {

/// Waits until the work of rank `rank`, another than the first, has ended, and says so where it takes longer than
/// `patience`. The work uses what the caller holds, so the wait ends no sooner.
using WaitForRank =
    std::function<void(std::future<void>& working, int rank, std::chrono::steady_clock::duration patience)>;

/// Rank 0 is `first`, on the caller's thread and device; rank r is made by `another` on device r, where images lie on
/// devices.
struct ProjectorRanks {
  // NOLINTNEXTLINE(google-explicit-constructor): a projector alone is one rank
  ProjectorRanks(ListModeProjector& first, int ranks = 1,
                 std::function<std::unique_ptr<ListModeProjector>()> another = {}, WaitForRank wait = {})
      : first(first), ranks(ranks), another(std::move(another)), wait(std::move(wait)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): for those who use one alone
  operator ListModeProjector&() const { return first; }

  ListModeProjector& first;
  int ranks;
  std::function<std::unique_ptr<ListModeProjector>()> another;  // called where ranks > 1
  WaitForRank wait;                                             // null: however long it takes
};

/// The ranks at work: each has a Worker, made for its projector, which lives and works on the rank's own thread.
/// Worker(ListModeProjector&) for the others; the first rank's is the caller's.
template <class Worker>
class RankWorkers {
 public:
  /// `make(projector)` gives a std::unique_ptr<Worker>. Throws what a projector or `make` throws.
  template <class Make>
  RankWorkers(const ProjectorRanks& projectors, const Make& make)
      : first_(make(projectors.first)), wait_(projectors.wait) {
    const bool is_on_devices = projectors.first.backend() == Backend::cuda;
    if (is_on_devices && projectors.ranks > 1) share_device_memory(projectors.ranks);
    for (int rank = 1; rank < projectors.ranks; ++rank) {
      Other& other = *others_.emplace_back(std::make_unique<Other>(is_on_devices ? rank : 0));
      other.working = other.thread.begin([&] {
        other.projector = projectors.another();
        other.worker = make(*other.projector);
        if (is_on_devices) synchronize(nullptr);
      });
      wait_for(rank, longest_making);
    }
  }
  ~RankWorkers() {
    for (auto& other : others_)
      other->thread
          .begin([&other] {
            other->worker.reset();
            other->projector.reset();
          })
          .wait();
  }
  RankWorkers(const RankWorkers&) = delete;
  RankWorkers& operator=(const RankWorkers&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  Worker& operator[](int rank) { return rank == 0 ? *first_ : *others_[static_cast<std::size_t>(rank) - 1]->worker; }

  /// work(rank, its worker) for the first `ranks` of them side by side; ends when all have ended, and then throws what
  /// the first that failed threw.
  template <class Work>
  void side_by_side(int ranks, const Work& work) {
    std::exception_ptr failed;
    for (int rank = 1; rank < ranks; ++rank) {
      Other& other = *others_[static_cast<std::size_t>(rank) - 1];
      other.working = other.thread.begin([&work, &other, rank] {
        work(rank, *other.worker);
        if (other.projector->backend() == Backend::cuda) synchronize(nullptr);
      });
    }
    const auto began = std::chrono::steady_clock::now();
    try {
      work(0, *first_);
    } catch (...) {
      failed = std::current_exception();
    }
    const auto patience = least_patience + 10 * (std::chrono::steady_clock::now() - began);
    for (int rank = 1; rank < ranks; ++rank) try {
        wait_for(rank, patience);
      } catch (...) {
        if (!failed) failed = std::current_exception();
      }
    if (failed) std::rethrow_exception(failed);
  }

 private:
  struct Other {
    explicit Other(int device) : thread(device) {}
    DeviceThread thread;
    std::unique_ptr<ListModeProjector> projector;
    std::unique_ptr<Worker> worker;
    std::future<void> working;
  };

  // As with ranks at a subset (gadgets/step/remote_rank.hpp).
  static constexpr std::chrono::seconds longest_making{60}, least_patience{8};

  // Throws what the rank has thrown.
  void wait_for(int rank, std::chrono::steady_clock::duration patience) {
    std::future<void>& working = others_[static_cast<std::size_t>(rank) - 1]->working;
    if (wait_) wait_(working, rank, patience);
    working.get();
  }

  std::unique_ptr<Worker> first_;
  WaitForRank wait_;
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
