// The projectors that share a reconstruction's subsets, one on each GPU of the host, or one in each of several
// processes (remote_rank.hpp). The first is the gadget's own, on its thread; each of the others of its process has a
// thread, a device, a copy of the estimate, and its parts of the batches, which it keeps for later iterations. All see
// the same estimate, and their back projections are added up on the first device in the order of the parts, so that
// whoever takes the sum knows nothing of ranks.
//
// An image goes from one device to all others, and the sum back, by slabs: each of the others takes a slab of the
// estimate from the first, and the rest from those that have it; each rank adds up a slab of all back projections and
// gives it to the first. So no device's links carry more than two images, however many ranks there are.
#pragma once

#include <algorithm>
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
#include "gadgets/step/remote_rank.hpp"
#include "gadgets/step/share.hpp"
#include "gadgets/step/subset_tally.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/device_thread.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

/// A subset and an estimate meet.
template <class Data>
struct SubsetPass {
  const Subset<Data>& subset;
  const Image& estimate;
  const Additive<Data>* additive;  // null where nothing gives terms
  // The estimate's image on the host, for other processes; null where there are none.
  std::shared_ptr<const Image> for_processes = nullptr;
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

  /// back += the back projection of the subset, which has data, by all ranks, in the projector's memory; on one GPU it
  /// may still be queued. The first rank takes a turn for each batch, so that a run with large subsets does not delay
  /// others. Throws what a projector throws, with the rank where it is not the only one.
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
    std::optional<Image> estimate;  // on its device, where that has memory of its own
    std::vector<Image> sums;        // of each share, likewise
    Buffer<float> slab, added;      // of a sum, and what is added to it
    std::future<void> working;
    SubsetTally tally;
  };

  bool is_on_devices() const { return !on_host(memory_); }
  std::int64_t largest_slab() const { return model_.projector().grid().voxels() / division_.ranks + 1; }
  /// The part that is a rank's share number `share`.
  int part_of(int rank, std::size_t share) const { return rank + division_.ranks * static_cast<int>(share); }
  std::size_t shares_of_rank(int rank) const {
    return static_cast<std::size_t>((division_.parts - rank + division_.ranks - 1) / division_.ranks);
  }
  std::deque<Share<Data>> shares_of(int rank, Projector<ViewOf<Data>>& projector) const;
  void add_other(int rank, Context& context);
  void add_processes(Context& context);
  void begin_processes(const SubsetPass<Data>& pass);
  void wait_for_processes();
  void add_up_processes(Image& back);
  void take_slab(Other& other, const Image& estimate);
  void take_other_slabs(Other& other);
  void project_there(Other& other, const SubsetPass<Data>& pass, Context& context);
  std::vector<Range> ranges_of(int part, const Subset<Data>& subset) const;
  template <class TakeTurn>
  SubsetTally project_part(Share<Data>& share, int part, const SubsetPass<Data>& pass, const Image& estimate,
                           Image& back, Context& context, const TakeTurn& take_turn);
  SubsetTally project_here(const SubsetPass<Data>& pass, Image& back, Context& context);
  template <class Work, class Own>
  void with_others(const Work& work, const Own& own);
  /// What `work` throws, with the rank's name.
  template <class Rank, class Work>
  static void naming(const Rank& rank, const std::string& where, const Work& work) try {
    work();
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("rank {}{}: {}", rank.number, where.empty() ? "" : ", on " + where, error.what()));
  }
  void wait_for_others();
  void add_up(Image& back);
  const Image& sum_of(int part, const Image& back) const;
  void add_slab(int rank, Buffer<float>& slab, Buffer<float>& added, Image& back);

  Division division_;
  std::int64_t planned_from_;
  SystemModel<Data>& model_;
  Memory memory_;
  std::deque<Share<Data>> own_;  // shares of the first rank
  std::vector<Image> own_sums_;  // of all of them but the first
  Buffer<float> own_added_;      // as the others'
  std::vector<std::unique_ptr<Other>> others_;
  std::vector<std::unique_ptr<RemoteRank<Data>>> processes_;
  PassClock clock_;
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
  if (division.are_processes) {
    add_processes(context);
    return;
  }
  if (is_on_devices()) {
    share_device_memory(division.ranks);
    own_added_ = Buffer<float>(memory_, largest_slab());
  }
  for (int rank = 1; rank < division.ranks; ++rank) add_other(rank, context);
}

template <class Data>
Ranks<Data>::~Ranks() {
  for (auto& other : others_)
    other->thread
        .begin([&other] {
          other->shares.clear();
          other->estimate.reset();
          other->sums.clear();
          other->slab = other->added = {};
          other->projector.reset();
        })
        .wait();
}

template <class Data>
std::deque<Share<Data>> Ranks<Data>::shares_of(int rank, Projector<ViewOf<Data>>& projector) const {
  std::deque<Share<Data>> shares;
  for (int part = rank; part < division_.parts; part += division_.ranks)
    shares.emplace_back(projector, model_, rank, division_.ranks);
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
        for (std::size_t i = 0; i < other.shares.size(); ++i) other.sums.push_back(Image::zeros(grid, memory_));
        if (!is_on_devices()) return;
        other.device = cuda_device_name();
        other.estimate = Image::zeros(grid, memory_);
        other.slab = Buffer<float>(memory_, largest_slab());
        other.added = Buffer<float>(memory_, largest_slab());
        synchronize(nullptr);
      })
      .get();
}

template <class Data>
SubsetTally Ranks<Data>::project(const SubsetPass<Data>& pass, Image& back, Context& context) {
  if (!others_.empty() && is_on_devices()) {
    synchronize(nullptr);  // the estimate is there
    with_others([&](Other& other) { take_slab(other, pass.estimate); }, [] {});
  }
  SubsetTally tally;
  begin_processes(pass);
  with_others([&](Other& other) { project_there(other, pass, context); },
              [&] {
                tally = project_here(pass, back, context);
                clock_.end();
              });
  wait_for_processes();
  for (const auto& other : others_) tally += other->tally;
  for (const auto& process : processes_) tally += process->tally();
  add_up(back);
  return tally;
}

// The others' work beside one's own; ends when all have ended, since they use what the caller holds.
template <class Data>
template <class Work, class Own>
void Ranks<Data>::with_others(const Work& work, const Own& own) {
  for (auto& other : others_) other->working = other->thread.begin([&work, &other] { work(*other); });
  try {
    own();
  } catch (...) {
    clock_.end();
    for (auto& other : others_) other->working.wait();
    for (auto& process : processes_) process->working.wait();
    throw;
  }
  wait_for_others();
}

template <class Data>
void Ranks<Data>::add_processes(Context& context) {
  if constexpr (Sendable<Data>) {
    RankGroup& group = *rank_group();
    if (is_on_devices()) own_added_ = Buffer<float>(memory_, model_.projector().grid().voxels());
    const std::uint32_t session = group.new_session();
    const auto pack_geometry = [&](wire::PackWriter& to) { model_.pack_geometry(to); };
    for (int rank = 1; rank < division_.ranks; ++rank)
      processes_.push_back(std::make_unique<RemoteRank<Data>>(group, session,
                                                              RankOpening{.grid = model_.projector().grid(),
                                                                          .backend = model_.projector().backend(),
                                                                          .ranks = division_.ranks,
                                                                          .rank = rank,
                                                                          .parts = division_.parts,
                                                                          .planned_from = planned_from_},
                                                              context.name(), pack_geometry));
    for (auto& process : processes_)
      naming(*process, group.identity(process->number).host, [&] { process->wait_until_ready(); });
  } else {
    throw std::invalid_argument("these data cannot be sent to other processes: start one (--join none)");
  }
}

// Each process is sent what it lacks, and answers, on a thread of its own.
template <class Data>
void Ranks<Data>::begin_processes(const SubsetPass<Data>& pass) {
  if constexpr (Sendable<Data>) {
    clock_.begin();
    for (auto& process : processes_)
      process->working = process->thread.begin([this, &pass, &process] {
        std::vector<std::vector<typename RemoteRank<Data>::Piece>> parts(shares_of_rank(process->number));
        for (std::size_t share = 0; share < parts.size(); ++share) {
          const std::vector<Range> ranges = ranges_of(part_of(process->number, share), pass.subset);
          for (std::size_t i = 0; i < ranges.size(); ++i)
            if (ranges[i].size > 0)
              parts[share].push_back({pass.subset.batches[i], ranges[i], i >= pass.subset.first_new()});
        }
        process->project(parts, pass.for_processes, pass.additive, memory_, clock_);
        if (pass.subset.step.iteration == pass.subset.step.iterations) process->forget(pass.subset);
      });
  }
}

template <class Data>
void Ranks<Data>::wait_for_processes() {
  const auto began = std::chrono::steady_clock::now();
  for (auto& process : processes_) process->working.wait();
  waiting_s_ += detail::seconds_since(began);
  for (auto& process : processes_) naming(*process, process->device, [&] { process->working.get(); });
}

template <class Data>
void Ranks<Data>::add_up_processes(Image& back) {
  if constexpr (Sendable<Data>) {
    const std::int64_t voxels = back.voxels.size();
    for (int part = 1; part < division_.parts; ++part) {
      const auto rank = static_cast<std::size_t>(part % division_.ranks),
                 share = static_cast<std::size_t>(part / division_.ranks);
      const float* plus = rank == 0 ? own_sums_[share - 1].voxels.data() : processes_[rank - 1]->sum(share).data();
      if (rank > 0 && is_on_devices()) {
        detail::copy(own_added_.data(), memory_, plus, Memory::host, sizeof(float) * static_cast<std::size_t>(voxels),
                     nullptr);
        plus = own_added_.data();
      }
      add_values(back.voxels.data(), plus, voxels, memory_);
    }
    if (is_on_devices()) synchronize(nullptr);
  }
}

template <class Data>
void Ranks<Data>::take_slab(Other& other, const Image& estimate) {
  const Part slab{other.number - 1, static_cast<int>(others_.size())};
  const std::int64_t voxels = estimate.voxels.size(), first = slab.first(voxels);
  detail::copy(other.estimate->voxels.data() + first, memory_, estimate.voxels.data() + first, memory_,
               sizeof(float) * static_cast<std::size_t>(slab.size(voxels)), nullptr);
  synchronize(nullptr);
}

// Each begins with another, so that they do not all read from one.
template <class Data>
void Ranks<Data>::take_other_slabs(Other& other) {
  const int all = static_cast<int>(others_.size());
  const std::int64_t voxels = other.estimate->voxels.size();
  for (int next = 1; next < all; ++next) {
    const Part slab{(other.number - 1 + next) % all, all};
    const std::int64_t first = slab.first(voxels);
    const Image& there = *others_[static_cast<std::size_t>(slab.index)]->estimate;
    detail::copy(other.estimate->voxels.data() + first, memory_, there.voxels.data() + first, memory_,
                 sizeof(float) * static_cast<std::size_t>(slab.size(voxels)), nullptr);
  }
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
    tally += project_part(own_[i], part_of(0, i), pass, pass.estimate, sum, context, take_turn);
  }
  return tally;
}

template <class Data>
void Ranks<Data>::project_there(Other& other, const SubsetPass<Data>& pass, Context& context) {
  other.tally = {};
  if (other.estimate) take_other_slabs(other);
  const Image& estimate = other.estimate ? *other.estimate : pass.estimate;
  for (std::size_t i = 0; i < other.shares.size(); ++i) {
    other.sums[i].voxels.clear();
    other.tally += project_part(other.shares[i], part_of(other.number, i), pass, estimate, other.sums[i], context,
                                [] { return Turn(); });
  }
  if (is_on_devices()) synchronize(nullptr);
}

/// What a part has of each batch of a subset: the subset's data are cut as one list, so that a part has few batches, most
/// of them whole.
template <class Data>
std::vector<Range> Ranks<Data>::ranges_of(int part, const Subset<Data>& subset) const {
  std::vector<Range> ranges;
  if constexpr (Divisible<Data>) {
    std::int64_t all = 0;
    for (const auto& batch : subset.batches) all += range_size(*batch);
    const Part own{part, division_.parts};
    const std::int64_t first = own.first(all), end = first + own.size(all);
    std::int64_t begin = 0;
    for (const auto& batch : subset.batches) {
      const std::int64_t size = range_size(*batch), from = std::clamp<std::int64_t>(first - begin, 0, size);
      ranges.push_back({from, std::clamp<std::int64_t>(end - begin, 0, size) - from});
      begin += size;
    }
  } else {
    ranges.resize(subset.batches.size());
  }
  return ranges;
}

template <class Data>
template <class TakeTurn>
SubsetTally Ranks<Data>::project_part(Share<Data>& share, int part, const SubsetPass<Data>& pass, const Image& estimate,
                                      Image& back, Context& context, const TakeTurn& take_turn) {
  const Subset<Data>& subset = pass.subset;
  const std::vector<Range> ranges = ranges_of(part, subset);
  const auto is_mine = [&](std::size_t i) { return division_.parts == 1 || ranges[i].size > 0; };
  SubsetTally tally;
  for (std::size_t i = 0; i < subset.batches.size(); ++i) {
    if (!is_mine(i)) continue;
    const auto& batch = subset.batches[i];
    const auto turn = take_turn();
    // Copies the next batch from the host while one is projected on the GPU; at the end of a subset, the next subset's
    // first, of which a part does not know yet what it has.
    const auto begin_next_copy = [&] {
      for (std::size_t next = i + 1; next < subset.batches.size(); ++next)
        if (is_mine(next) && on_host(subset.batches[next]->memory()))
          return share.begin_copy(subset.batches[next], ranges[next]);
      if (division_.parts == 1 && subset.next_batch) share.begin_copy(subset.next_batch, whole_of(*subset.next_batch));
    };
    const auto result = share.em_step(batch, ranges[i], pass.additive, estimate.voxels.data(), back.voxels.data(),
                                      begin_next_copy, context);
    tally.all += result.tally;
    if (i >= subset.first_new()) {
      tally.of_new += result.tally;
      // Batches on the host are planned in each pass and do not count.
      const bool expected = is_on_devices() && !on_host(batch->memory()) && planned_from_ > 0 &&
                            (division_.parts == 1 ? batch->count : ranges[i].size) >= planned_from_;
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
  for (auto& other : others_) naming(*other, other->device, [&] { other->working.get(); });
}

template <class Data>
void Ranks<Data>::add_up(Image& back) {
  if (division_.parts == 1) return;
  const auto began = std::chrono::steady_clock::now();
  if (!processes_.empty()) {
    add_up_processes(back);
  } else if (division_.ranks == 1 || !is_on_devices()) {
    for (int part = 1; part < division_.parts; ++part) add_difference(back, 1, sum_of(part, back));
  } else {
    synchronize(nullptr);  // the first rank's own sums are there
    Buffer<float> none;
    with_others([&](Other& other) { add_slab(other.number, other.slab, other.added, back); },
                [&] { add_slab(0, none, own_added_, back); });
  }
  adding_s_ += detail::seconds_since(began);
}

/// Of part 0 it is `back` itself.
template <class Data>
const Image& Ranks<Data>::sum_of(int part, const Image& back) const {
  const auto rank = static_cast<std::size_t>(part % division_.ranks),
             share = static_cast<std::size_t>(part / division_.ranks);
  if (rank > 0) return others_[rank - 1]->sums[share];
  return share == 0 ? back : own_sums_[share - 1];
}

// The sum of all parts' slabs, in the order of the parts: back's own slab on the first rank, a copy elsewhere.
template <class Data>
void Ranks<Data>::add_slab(int rank, Buffer<float>& slab, Buffer<float>& added, Image& back) {
  const Part own{rank, division_.ranks};
  const std::int64_t voxels = back.voxels.size(), first = own.first(voxels), count = own.size(voxels);
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(count);
  float* const target = back.voxels.data() + first;
  float* const sum = rank == 0 ? target : slab.data();
  if (rank > 0) detail::copy(sum, memory_, target, memory_, bytes, nullptr);
  for (int part = 1; part < division_.parts; ++part) {
    const float* plus = sum_of(part, back).voxels.data() + first;
    if (part % division_.ranks != rank) {
      detail::copy(added.data(), memory_, plus, memory_, bytes, nullptr);
      plus = added.data();
    }
    add_values(sum, plus, count, memory_);
  }
  if (rank > 0) detail::copy(target, memory_, sum, memory_, bytes, nullptr);
  synchronize(nullptr);
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
  for (const auto& process : processes_) all.push_back({process->device, process->figures()});
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
