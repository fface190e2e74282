// The projectors that share a reconstruction's subsets, one on each GPU of the host, or one in each of several
// processes (remote_ranks.hpp). The first is the gadget's own, on its thread; each of the others of its process has a
// thread, a device, a copy of the estimate, and its parts of the batches, which it keeps for later iterations. All see
// the same estimate, and their back projections are added up on the first device in the order of the parts, so that
// whoever takes the sum knows nothing of ranks.
//
// An image goes from one device to all others, and the sum back, by slabs: each of the others takes a slab of the
// estimate from the first, and the rest from those that have it; each rank adds up a slab of all back projections and
// gives it to the first. So no device's links carry more than two images, however many ranks there are.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/muted_log.hpp"
#include "core/run/fault.hpp"
#include "gadgets/step/division.hpp"
#include "gadgets/step/rank_errors.hpp"
#include "gadgets/step/rank_watch.hpp"
#include "gadgets/step/remote_ranks.hpp"
#include "gadgets/step/share.hpp"
#include "gadgets/step/stragglers.hpp"
#include "gadgets/step/subset_pass.hpp"
#include "gadgets/step/subset_tally.hpp"
#include "kernels/em/image_sum.hpp"
#include "kernels/memory/device_thread.hpp"
#include "kernels/memory/devices.hpp"

namespace tofstream {

/// What a rank has done so far.
struct RankFigures {
  std::string device;  // empty: a CPU
  ShareFigures of_shares;
  double waiting_s = 0;  // for the slowest, once its own part of a subset was projected
  double adding_s = 0;   // sums of all ranks
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
  /// Ranks that the last subset has shown to be slower than the others, in words; each is named once.
  const std::vector<std::string>& slow_ranks() const { return slow_ranks_; }
  const Dealing& dealing() const { return dealing_; }
  /// How images get to other processes and back: "nccl", or "messages"; empty where there are none.
  std::string images_by() const { return remote_ ? remote_->images_by() : ""; }
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
    RankProgress progress;
    double pass_s = 0, adding_s = 0;
    std::uint64_t passes = 0;
  };
  // What a rank's thread asks and tells between batches.
  struct AtWork {
    std::function<Turn()> take_turn;
    std::function<void(std::int64_t data, double seconds)> done;
    std::function<void()> go_on;  // throws BrokenOff
  };

  bool is_on_devices() const { return !on_host(memory_); }
  std::int64_t largest_slab() const { return model_.projector().grid().voxels() / division_.ranks + 1; }
  /// The part that is a rank's share number `share`.
  int part_of(int rank, std::size_t share) const { return rank + division_.ranks * static_cast<int>(share); }
  std::deque<Share<Data>> shares_of(int rank, Projector<ViewOf<Data>>& projector) const;
  void add_other(int rank, Context& context);
  void take_slab(Other& other, const Image& estimate);
  void take_other_slabs(Other& other);
  void project_there(Other& other, const SubsetPass<Data>& pass, Context& context);
  SubsetTally project_part(int rank, std::deque<Share<Data>>& shares, std::size_t number, const SubsetPass<Data>& pass,
                           const Image& estimate, Image& back, Context& context, const AtWork& at_work);
  void begin_next_copy(int rank, std::deque<Share<Data>>& shares, std::size_t number, const std::vector<Range>& ranges,
                       std::size_t batch, const Subset<Data>& subset) const;
  bool is_of_part(const Range& range) const { return division_.parts == 1 || range.size > 0; }
  SubsetTally project_here(const SubsetPass<Data>& pass, Image& back, Context& context);
  template <class Work, class Own>
  void with_others(const Work& work, const Own& own, Context& context);
  void go_on(Context& context) const;
  void wait_for_others(Context& context);
  void throw_cause(RankErrors& errors);
  void compare_times(const SubsetTally& own);
  void add_up(Image& back, Context& context);
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
  const FaultSettings fault_;  // of one of the others
  std::atomic<bool> is_broken_ = false;
  std::int64_t largest_ = 0;  // data of the subset's largest batch
  PassClock clock_;
  Dealing dealing_;
  std::unique_ptr<RemoteRanks<Data>> remote_;  // null: all are of this process
  double own_pass_s_ = 0;
  Stragglers stragglers_;
  std::vector<std::string> slow_ranks_;
  std::vector<double> rank_waiting_s_;
  double waiting_s_ = 0, adding_s_ = 0, waiting_for_turn_s_ = 0;
};

template <class Data>
Ranks<Data>::Ranks(const Division& division, std::int64_t planned_from, SystemModel<Data>& model, Context& context)
    : division_(division),
      planned_from_(planned_from),
      model_(model),
      memory_(memory_of(model.projector().backend())),
      own_(shares_of(0, model.projector())),
      fault_(fault_of_ranks(context)),
      clock_(context.cancel_token()),
      dealing_(division) {
  if (!Divisible<Data> && division.parts > 1)
    throw std::invalid_argument("ranks: 1 is all there can be for these data, which nothing cuts into parts");
  const Grid& grid = model.projector().grid();
  while (own_sums_.size() + 1 < own_.size()) own_sums_.push_back(Image::zeros(grid, memory_));
  if (division.ranks == 1) return;
  if (division.are_processes) {
    remote_ = std::make_unique<RemoteRanks<Data>>(
        division, planned_from, model, dealing_, clock_, [this] { is_broken_ = true; }, context);
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
  is_broken_ = false;
  largest_ = 0;
  if constexpr (Divisible<Data>)
    for (const auto& batch : pass.subset.batches) largest_ = std::max(largest_, range_size(*batch));
  if (!others_.empty() && is_on_devices()) {
    synchronize(nullptr);  // the estimate is there
    with_others([&](Other& other) { take_slab(other, pass.estimate); }, [] {}, context);
  }
  const auto own_images = remote_ ? remote_->take_images() : std::unique_lock<std::mutex>();
  SubsetTally tally;
  if (remote_) remote_->begin(pass);
  with_others([&](Other& other) { project_there(other, pass, context); },
              [&] { tally = project_here(pass, back, context); }, context);
  compare_times(tally);
  for (const auto& other : others_) tally += other->tally;
  if (remote_)
    for (const auto& process : remote_->all()) tally += process->tally();
  add_up(back, context);
  return tally;
}

// The others' work beside one's own; ends when all have ended, since they use what the caller holds.
template <class Data>
template <class Work, class Own>
void Ranks<Data>::with_others(const Work& work, const Own& own, Context& context) {
  for (auto& other : others_) {
    other->progress.note();
    other->working = other->thread.begin([this, &work, &other] {
      try {
        work(*other);
      } catch (...) {
        is_broken_ = true;
        throw;
      }
    });
  }
  RankErrors errors;
  errors.note([&] {
    try {
      own();
    } catch (...) {
      is_broken_ = true;
      clock_.give_up();
      throw;
    }
  });
  wait_for_others(context);
  throw_cause(errors);
}

// Between two batches of the first rank, or of one of the others of its process.
template <class Data>
void Ranks<Data>::go_on(Context& context) const {
  if (is_broken_ || context.cancelled() || (remote_ && remote_->failure())) throw BrokenOff();
}

template <class Data>
void Ranks<Data>::wait_for_others(Context& context) {
  const auto began = std::chrono::steady_clock::now();
  for (auto& other : others_)
    wait_for_rank(
        other->working, other->progress, [this] { return clock_.patience(largest_); },
        fmt::format("rank {}{}", other->number, other->device.empty() ? "" : ", on " + other->device), context);
  if (remote_) remote_->wait();
  waiting_s_ += detail::seconds_since(began);
}

// What was thrown first: by the first rank itself, or by another, of whom the first and others only broke off.
template <class Data>
void Ranks<Data>::throw_cause(RankErrors& errors) {
  for (auto& other : others_)
    errors.note([&] { naming_rank(other->number, other->device, [&] { other->working.get(); }); });
  if (remote_) remote_->note_errors(errors);
  // A process may have failed after it gave its sums.
  const auto failure = errors.only_broke_off() && remote_ ? remote_->failure() : std::nullopt;
  if (failure) throw RankFailed(failure->what);
  errors.rethrow();
}

template <class Data>
void Ranks<Data>::compare_times(const SubsetTally& own) {
  slow_ranks_.clear();
  if (division_.ranks == 1) return;
  const auto time_of = [](const SubsetTally& tally, double seconds) {
    return RankTime{tally.all.used + tally.all.skipped, seconds};
  };
  std::vector<RankTime> times{time_of(own, own_pass_s_)};
  for (const auto& other : others_) times.push_back(time_of(other->tally, other->pass_s));
  if (remote_)
    for (const auto& process : remote_->all()) times.push_back(time_of(process->tally(), process->pass_s()));
  rank_waiting_s_.resize(times.size());
  const double slowest_s = std::ranges::max(times, {}, &RankTime::seconds).seconds;
  for (std::size_t rank = 0; rank < times.size(); ++rank) rank_waiting_s_[rank] += slowest_s - times[rank].seconds;
  dealing_.note(times);
  for (const Straggler& slow : stragglers_.note(times)) {
    const auto number = static_cast<std::size_t>(slow.rank);
    const std::string device = number == 0 ? ""
                               : remote_   ? remote_->all()[number - 1]->device
                                           : others_[number - 1]->device;
    slow_ranks_.push_back(
        fmt::format("rank {}{}: over {} subsets it took {:.1f} times as long as the median rank for as "
                    "many data, and the others waited for it",
                    slow.rank, device.empty() ? "" : ", on " + device, Stragglers::window, slow.times));
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
  own_pass_s_ = 0;
  const AtWork at_work{.take_turn =
                           [&] {
                             const auto asked = std::chrono::steady_clock::now();
                             Turn turn = context.take_turn();
                             waiting_for_turn_s_ += detail::seconds_since(asked);
                             return turn;
                           },
                       .done =
                           [&](std::int64_t data, double seconds) {
                             own_pass_s_ += seconds;
                             clock_.note(data, seconds);
                           },
                       .go_on = [&] { go_on(context); }};
  SubsetTally tally;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    Image& sum = i == 0 ? back : own_sums_[i - 1];
    if (i > 0) at_work.go_on();
    if (i > 0) sum.voxels.clear();
    tally += project_part(0, own_, i, pass, pass.estimate, sum, context, at_work);
  }
  return tally;
}

template <class Data>
void Ranks<Data>::project_there(Other& other, const SubsetPass<Data>& pass, Context& context) {
  const auto began = std::chrono::steady_clock::now();
  other.tally = {};
  if (fault_.is_of(static_cast<std::uint64_t>(other.number)))
    meet_fault(fault_, other.passes++, [&] { return !context.cancelled(); });
  if (other.estimate) take_other_slabs(other);
  const Image& estimate = other.estimate ? *other.estimate : pass.estimate;
  const AtWork at_work{.take_turn = [] { return Turn(); },
                       .done = [&](std::int64_t, double) { other.progress.note(); },
                       .go_on = [&] { go_on(context); }};
  for (std::size_t i = 0; i < other.shares.size(); ++i) {
    if (i > 0) at_work.go_on();
    other.sums[i].voxels.clear();
    other.tally += project_part(other.number, other.shares, i, pass, estimate, other.sums[i], context, at_work);
  }
  if (is_on_devices()) synchronize(nullptr);
  other.pass_s = detail::seconds_since(began);
}

template <class Data>
SubsetTally Ranks<Data>::project_part(int rank, std::deque<Share<Data>>& shares, std::size_t number,
                                      const SubsetPass<Data>& pass, const Image& estimate, Image& back,
                                      Context& context, const AtWork& at_work) {
  const Subset<Data>& subset = pass.subset;
  Share<Data>& share = shares[number];
  const std::vector<Range> ranges = ranges_of_part(dealing_, part_of(rank, number), subset.batches);
  SubsetTally tally;
  for (std::size_t i = 0; i < subset.batches.size(); ++i) {
    const auto& batch = subset.batches[i];
    if (!is_of_part(ranges[i])) {
      share.forget(batch);  // it may have been dealt otherwise
      continue;
    }
    if (tally.all.used + tally.all.skipped > 0) at_work.go_on();
    const auto turn = at_work.take_turn();
    const auto began = std::chrono::steady_clock::now();
    const auto result = share.em_step(
        batch, ranges[i], !subset.is_last_time, pass.additive, estimate.voxels.data(), back.voxels.data(),
        [&] { begin_next_copy(rank, shares, number, ranges, i, subset); }, context);
    at_work.done(ranges[i].size, detail::seconds_since(began));
    tally.all += result.tally;
    if (i >= subset.first_new()) {
      tally.of_new += result.tally;
      // Batches on the host are planned in each pass and do not count.
      const bool expected = is_on_devices() && !on_host(batch->memory()) && planned_from_ > 0 &&
                            (division_.parts == 1 ? batch->count : ranges[i].size) >= planned_from_;
      if (expected && !result.has_plan) ++tally.without_plan;
    }
    if (subset.is_last_time) share.forget(batch);
  }
  return tally;
}

// Copies what the rank projects next from the host, while it projects that batch on the GPU, and while sums are added up
// and the estimate is updated: the part's next batch, or the first of its next part, which at the end of a subset is that
// of the next one. So no more than one waits there.
template <class Data>
void Ranks<Data>::begin_next_copy(int rank, std::deque<Share<Data>>& shares, std::size_t number,
                                  const std::vector<Range>& ranges, std::size_t batch,
                                  const Subset<Data>& subset) const {
  using Batches = std::vector<std::shared_ptr<const Data>>;
  const auto has_begun = [&](Share<Data>& share, const Batches& batches, const std::vector<Range>& of_part,
                             std::size_t from) {
    for (std::size_t next = from; next < batches.size(); ++next)
      if (is_of_part(of_part[next]) && on_host(batches[next]->memory())) {
        share.begin_copy(batches[next], of_part[next]);
        return true;
      }
    return false;
  };
  const auto begins_part = [&](std::size_t share, const Batches& batches) {
    return has_begun(shares[share], batches, ranges_of_part(dealing_, part_of(rank, share), batches), 0);
  };
  if (has_begun(shares[number], subset.batches, ranges, batch + 1)) return;
  for (std::size_t next = number + 1; next < shares.size(); ++next)
    if (begins_part(next, subset.batches)) return;
  begins_part(0, subset.next_batches);
}

template <class Data>
void Ranks<Data>::add_up(Image& back, Context& context) {
  if (division_.parts == 1) return;
  const auto began = std::chrono::steady_clock::now();
  if (remote_) {
    remote_->add_up(back, own_sums_, [&] { go_on(context); });
  } else if (division_.ranks == 1 || !is_on_devices()) {
    for (int part = 1; part < division_.parts; ++part) add_difference(back, 1, sum_of(part, back));
  } else {
    synchronize(nullptr);  // the first rank's own sums are there
    Buffer<float> none;
    const auto add_others_slab = [&](Other& other) {
      const auto began_there = std::chrono::steady_clock::now();
      add_slab(other.number, other.slab, other.added, back);
      other.adding_s += detail::seconds_since(began_there);
    };
    with_others(
        add_others_slab, [&] { add_slab(0, none, own_added_, back); }, context);
  }
  adding_s_ += detail::seconds_since(began);
}

/// The sum of part 0 is `back` itself.
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
  std::vector<RankFigures> all{{is_on_devices() ? cuda_device_name() : "", sum_of(own_), 0, adding_s_}};
  for (const auto& other : others_) all.push_back({other->device, sum_of(other->shares), 0, other->adding_s});
  if (remote_)
    for (const auto& process : remote_->all())
      all.push_back({process->device, process->figures(), 0, process->adding_s()});
  for (std::size_t rank = 0; rank < rank_waiting_s_.size(); ++rank) all[rank].waiting_s = rank_waiting_s_[rank];
  return all;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
