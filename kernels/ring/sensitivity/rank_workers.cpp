// Threads of ranks: see rank_workers.hpp.
#include "kernels/ring/sensitivity/rank_workers.hpp"

#include <exception>
#include <utility>

#include "kernels/memory/devices.hpp"

namespace tofstream::detail {

namespace {

// As with ranks at a subset (gadgets/step/remote_rank.hpp).
constexpr std::chrono::seconds longest_making{60}, least_patience{8};

}  // namespace

RankWorkers::RankWorkers(const SensitivityWork& work, const ProjectorRanks& projectors,
                         std::shared_ptr<SensitivityRank> first)
    : first_{std::move(first), {}, 0}, wait_(projectors.wait), elsewhere_(projectors.elsewhere) {
  const bool is_on_devices = projectors.first.backend() == Backend::cuda;
  if (is_on_devices && projectors.ranks > 1 && !elsewhere_) share_device_memory(projectors.ranks);
  add_others(work, projectors);
}

// Processes begin side by side.
void RankWorkers::add_others(const SensitivityWork& work, const ProjectorRanks& projectors) {
  const Memory memory = memory_of(projectors.first.backend());
  for (int rank = 1; rank < projectors.ranks; ++rank) {
    const int device = elsewhere_ || on_host(memory) ? current_device() : rank;
    Other& other = *others_.emplace_back(std::make_unique<Other>(device));
    other.working = other.thread.begin([&, rank] {
      if (elsewhere_) {
        other.at_work.rank = elsewhere_->open(rank, work);
      } else {
        other.projector = projectors.another();
        other.at_work.rank = make_sensitivity_rank(work, *other.projector);
      }
      other.at_work.sum = {projectors.first.grid(), Buffer<float>(memory, projectors.first.grid().voxels())};
    });
    if (!elsewhere_) wait_for(rank, longest_making);
  }
  if (elsewhere_)
    all_of(
        projectors.ranks, [&](int rank) { wait_for(rank, longest_making); }, nullptr);
}

RankWorkers::~RankWorkers() {
  for (auto& other : others_)
    other->thread
        .begin([&other] {
          other->at_work = {};
          other->projector.reset();
        })
        .wait();
}

void RankWorkers::side_by_side(int ranks, const std::function<void(int, RankAtWork&)>& work) {
  for (int rank = 1; rank < ranks; ++rank) {
    Other& other = *others_[static_cast<std::size_t>(rank) - 1];
    other.working = other.thread.begin([&work, &other, rank] {
      work(rank, other.at_work);
      if (other.projector && other.projector->backend() == Backend::cuda) synchronize(nullptr);
    });
  }
  std::exception_ptr failed;
  const auto began = std::chrono::steady_clock::now();
  try {
    work(0, first_);
  } catch (...) {
    failed = std::current_exception();
    if (elsewhere_) elsewhere_->give_up();
  }
  const auto took = std::chrono::steady_clock::now() - began;
  if (elsewhere_) elsewhere_->first_took(took);
  all_of(
      ranks, [&](int rank) { wait_for(rank, least_patience + 10 * took); }, failed);
}

// wait(rank) for all others, whatever one throws; then the first that failed.
template <class Wait>
void RankWorkers::all_of(int ranks, const Wait& wait, std::exception_ptr failed) {
  for (int rank = 1; rank < ranks; ++rank) try {
      wait(rank);
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  if (failed) std::rethrow_exception(failed);
}

// Throws what the rank has thrown.
void RankWorkers::wait_for(int rank, std::chrono::steady_clock::duration patience) {
  std::future<void>& working = others_[static_cast<std::size_t>(rank) - 1]->working;
  if (wait_) wait_(working, rank, patience);
  working.get();
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
