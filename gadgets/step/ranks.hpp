// The projectors that share a reconstruction's subsets, one on each GPU of the host. The first is the gadget's own, on
// its thread; each of the others has a thread, a device, a copy of the estimate, and its parts of the batches, which it
// keeps for later iterations. All see the same estimate, and their back projections are added up on the first device in
// the order of the parts, so that whoever takes the sum knows nothing of ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/muted_log.hpp"
#include "gadgets/step/division.hpp"
#include "gadgets/step/share.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/device_thread.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

/// What was seen of a subset.
struct SubsetTally {
  EmTally all, of_new;            // of_new: of data that were in no update before
  std::int64_t without_plan = 0;  // new batches that should have a plan
  SubsetTally& operator+=(const SubsetTally& other) {
    all += other.all;
    of_new += other.of_new;
    without_plan += other.without_plan;
    return *this;
  }
};

/// A subset and an estimate meet.
template <class Data>
struct SubsetPass {
  const Subset<Data>& subset;
  const Image& estimate;
  const Additive<Data>* additive;  // null where nothing gives terms
};

/// What a rank has done so far.
struct RankFigures {
  std::string device;  // empty: a CPU
  ShareFigures of_shares;
};

template <class Data>
class Ranks {
 public:
  /// `planned_from`: from so many data on, batches without a plan are counted; 0: none. `model` is prepared and
  /// outlives the ranks.
  Ranks(const Division& division, std::int64_t planned_from, SystemModel<Data>& model, Context& context);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// back += the back projection of the subset by all ranks, in the projector's memory; on one GPU it may still be
  /// queued. The first rank takes a turn for each batch, so that a run with large subsets does not delay others. Throws
  /// what a projector throws, with the rank where it is not the only one.
  SubsetTally project(const SubsetPass<Data>& pass, Image& back, Context& context);

  std::vector<RankFigures> figures() const;
  /// Time in which the first rank waited for others, and added up what they gave.
  double waiting_s() const { return waiting_s_; }
  double adding_s() const { return adding_s_; }
  double waiting_for_turn_s() const { return waiting_for_turn_s_; }

 private:
  // One of the others. Whatever its device holds comes and goes on its thread.
  struct Other {
    Other(int number, int device) : number(number), thread(device) {}
    int number;
    DeviceThread thread;
    std::string device;
    std::unique_ptr<Projector<ViewOf<Data>>> projector;
    std::deque<Share<Data>> shares;
    std::optional<Image> estimate, back;  // on its device, where that has memory of its own
    std::vector<Image> sums;              // of each share, where the first rank can add them
    std::future<void> working;
    SubsetTally tally;
  };

  bool is_on_devices() const { return !on_host(memory_); }
  std::deque<Share<Data>> shares_of(int rank, Projector<ViewOf<Data>>& projector) const;
  void add_other(int rank, Context& context);
  void project_there(Other& other, const SubsetPass<Data>& pass, Context& context);
  template <class TakeTurn>
  SubsetTally project_share(Share<Data>& share, const SubsetPass<Data>& pass, const Image& estimate, Image& back,
                            Context& context, const TakeTurn& take_turn);
  SubsetTally project_here(const SubsetPass<Data>& pass, Image& back, Context& context);
  void wait_for_others();
  void add_up(Image& back);

  Division division_;
  std::int64_t planned_from_;
  SystemModel<Data>& model_;
  Memory memory_;
  std::deque<Share<Data>> own_;  // shares of the first rank
  std::vector<Image> own_sums_;   // of all of them but the first
  std::vector<std::unique_ptr<Other>> others_;
  double waiting_s_ = 0, adding_s_ = 0, waiting_for_turn_s_ = 0;
};

template <class Data>
Ranks<Data>::Ranks(const Division& division, std::int64_t planned_from, SystemModel<Data>& model, Context& context)
    : division_(division),
      planned_from_(planned_from),
      model_(model),
      memory_(memory_of(model.projector().backend())),
      own_(shares_of(0, model.projector())) {
  if (!Divisible<Data> && division.parts > 1)
    throw std::invalid_argument("ranks: 1 is all there can be for these data, which nothing cuts into parts");
  const Grid& grid = model.projector().grid();
  while (own_sums_.size() + 1 < own_.size()) own_sums_.push_back(Image::zeros(grid, memory_));
  if (division.ranks == 1) return;
  if (is_on_devices()) share_device_memory(division.ranks);
  for (int rank = 1; rank < division.ranks; ++rank) add_other(rank, context);
}

template <class Data>
Ranks<Data>::~Ranks() {
  for (auto& other : others_)
    other->thread
        .begin([&other] {
          other->shares.clear();
          other->estimate.reset();
          other->back.reset();
          other->projector.reset();
        })
        .wait();
}

template <class Data>
std::deque<Share<Data>> Ranks<Data>::shares_of(int rank, Projector<ViewOf<Data>>& projector) const {
  std::deque<Share<Data>> shares;
  for (int part = rank; part < division_.parts; part += division_.ranks)
    shares.emplace_back(projector, model_, Part{part, division_.parts}, rank == 0);
  return shares;
}

template <class Data>
void Ranks<Data>::add_other(int rank, Context& context) {
  auto& other = *others_.emplace_back(std::make_unique<Other>(rank, is_on_devices() ? rank : 0));
  const Grid& grid = model_.projector().grid();
  other.thread
      .begin([&] {
        const MutedLog said_already;
        other.projector = model_.another_projector(context);
        other.shares = shares_of(rank, *other.projector);
        if (!is_on_devices()) return;
        other.device = cuda_device_name();
        other.estimate = Image::zeros(grid, memory_);
        other.back = Image::zeros(grid, memory_);
        synchronize(nullptr);
      })
      .get();
  for (std::size_t i = 0; i < other.shares.size(); ++i) other.sums.push_back(Image::zeros(grid, memory_));
}

template <class Data>
SubsetTally Ranks<Data>::project(const SubsetPass<Data>& pass, Image& back, Context& context) {
  if (pass.subset.batches.empty()) return {};
  if (!others_.empty() && is_on_devices()) synchronize(nullptr);  // the estimate is there, and sums may be written
  for (auto& other : others_)
    other->working = other->thread.begin([this, &other, &pass, &context] { project_there(*other, pass, context); });
  SubsetTally tally;
  try {
    tally = project_here(pass, back, context);
  } catch (...) {
    for (auto& other : others_) other->working.wait();  // they read what the caller holds
    throw;
  }
  wait_for_others();
  for (const auto& other : others_) tally += other->tally;
  add_up(back);
  return tally;
}

template <class Data>
SubsetTally Ranks<Data>::project_here(const SubsetPass<Data>& pass, Image& back, Context& context) {
  const auto take_turn = [&] {
    const auto asked = std::chrono::steady_clock::now();
    Turn turn = context.take_turn();
    waiting_for_turn_s_ += detail::seconds_since(asked);
    return turn;
  };
  SubsetTally tally;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    Image& sum = i == 0 ? back : own_sums_[i - 1];
    if (i > 0) sum.voxels.clear();
    tally += project_share(own_[i], pass, pass.estimate, sum, context, take_turn);
  }
  return tally;
}

template <class Data>
void Ranks<Data>::project_there(Other& other, const SubsetPass<Data>& pass, Context& context) {
  other.tally = {};
  const Image* estimate = &pass.estimate;
  const std::size_t bytes = estimate->bytes();
  if (other.estimate) {
    detail::copy(other.estimate->voxels.data(), memory_, estimate->voxels.data(), memory_, bytes, nullptr);
    estimate = &*other.estimate;
  }
  for (std::size_t i = 0; i < other.shares.size(); ++i) {
    Image& back = other.back ? *other.back : other.sums[i];
    back.voxels.clear();
    other.tally += project_share(other.shares[i], pass, *estimate, back, context, [] { return Turn(); });
    if (!other.back) continue;
    detail::copy(other.sums[i].voxels.data(), memory_, back.voxels.data(), memory_, bytes, nullptr);
    synchronize(nullptr);
  }
}

template <class Data>
template <class TakeTurn>
SubsetTally Ranks<Data>::project_share(Share<Data>& share, const SubsetPass<Data>& pass, const Image& estimate,
                                       Image& back, Context& context, const TakeTurn& take_turn) {
  const Subset<Data>& subset = pass.subset;
  SubsetTally tally;
  for (std::size_t i = 0; i < subset.batches.size(); ++i) {
    const auto& batch = subset.batches[i];
    const auto turn = take_turn();
    // Copies the next batch from the host while one is projected on the GPU; at the end of a subset, the next subset's
    // first.
    const auto begin_next_copy = [&] {
      for (std::size_t next = i + 1; next < subset.batches.size(); ++next)
        if (on_host(subset.batches[next]->memory())) return share.begin_copy(subset.batches[next]);
      share.begin_copy(subset.next_batch);
    };
    const auto result = share.em_step(batch, pass.additive, estimate.voxels.data(), back.voxels.data(),
                                      begin_next_copy, context);
    tally.all += result.tally;
    if (i >= subset.first_new()) {
      tally.of_new += result.tally;
      // Batches on the host are planned in each pass and do not count.
      const bool expected = is_on_devices() && !on_host(batch->memory()) && planned_from_ > 0 &&
                            share.part().size(batch->count) >= planned_from_;
      if (expected && !result.has_plan) ++tally.without_plan;
    }
    if (subset.step.iteration == subset.step.iterations) share.forget(batch);
  }
  return tally;
}

template <class Data>
void Ranks<Data>::wait_for_others() {
  const auto began = std::chrono::steady_clock::now();
  for (auto& other : others_) other->working.wait();
  waiting_s_ += detail::seconds_since(began);
  for (auto& other : others_) {
    try {
      other->working.get();
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("rank {}{}: {}", other->number,
                                           other->device.empty() ? "" : ", on " + other->device, error.what()));
    }
  }
}

template <class Data>
void Ranks<Data>::add_up(Image& back) {
  const auto began = std::chrono::steady_clock::now();
  for (int part = 1; part < division_.parts; ++part) {
    const auto rank = static_cast<std::size_t>(part % division_.ranks),
               share = static_cast<std::size_t>(part / division_.ranks);
    add_difference(back, 1, rank == 0 ? own_sums_[share - 1] : others_[rank - 1]->sums[share]);
  }
  adding_s_ += detail::seconds_since(began);
}

template <class Data>
std::vector<RankFigures> Ranks<Data>::figures() const {
  const auto sum_of = [](const std::deque<Share<Data>>& shares) {
    ShareFigures sum;
    for (const Share<Data>& share : shares) sum += share.figures();
    return sum;
  };
  std::vector<RankFigures> all{{is_on_devices() ? cuda_device_name() : "", sum_of(own_)}};
  for (const auto& other : others_) all.push_back({other->device, sum_of(other->shares)});
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
