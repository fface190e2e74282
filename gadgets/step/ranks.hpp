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
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
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
#include "gadgets/step/rank_watch.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "gadgets/step/share.hpp"
#include "gadgets/step/stragglers.hpp"
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
  // Gives the estimate's image on the host, for other processes.
  std::function<std::shared_ptr<const Image>()> on_host;
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
  /// Ranks that the last subset has shown to be slower than the others, in words; each is named once.
  const std::vector<std::string>& slow_ranks() const { return slow_ranks_; }
  /// How images get to other processes and back: "nccl", or "messages"; empty where there are none.
  std::string images_by() const { return processes_.empty() ? "" : images_ ? "nccl" : "messages"; }
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
    double pass_s = 0;
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
  std::size_t shares_of_rank(int rank) const {
    return static_cast<std::size_t>((division_.parts - rank + division_.ranks - 1) / division_.ranks);
  }
  std::deque<Share<Data>> shares_of(int rank, Projector<ViewOf<Data>>& projector) const;
  void add_other(int rank, Context& context);
  void add_processes(Context& context);
  void begin_processes(const SubsetPass<Data>& pass, Context& context);
  template <class Work>
  void let_processes(const Work& work);
  void add_up_processes(Image& back, Context& context);
  void add_up_messages(Image& back);
  void take_slab(Other& other, const Image& estimate);
  void take_other_slabs(Other& other);
  void project_there(Other& other, const SubsetPass<Data>& pass, Context& context);
  void begin_there(RemoteRank<Data>& process, const SubsetPass<Data>& pass,
                   const std::shared_ptr<const Image>& estimate);
  std::vector<Range> ranges_of(int part, const Subset<Data>& subset) const;
  SubsetTally project_part(Share<Data>& share, int part, const SubsetPass<Data>& pass, const Image& estimate,
                           Image& back, Context& context, const AtWork& at_work);
  SubsetTally project_here(const SubsetPass<Data>& pass, Image& back, Context& context);
  template <class Work, class Own>
  void with_others(const Work& work, const Own& own, Context& context);
  void go_on(Context& context) const;
  /// Where `work` throws, the others break off between batches.
  template <class Work>
  void breaking_others(const Work& work) try {
    work();
  } catch (...) {
    is_broken_ = true;
    throw;
  }
  void wait_for_others(Context& context);
  void throw_cause(const std::exception_ptr& own);
  void find_slow_ranks(const SubsetTally& own);
  /// What `work` throws, with the rank's name.
  template <class Rank, class Work>
  static void naming(const Rank& rank, const std::string& where, const Work& work) try {
    work();
  } catch (const RankFailed&) {
    throw;  // in words that name it
  } catch (const BrokenOff&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("rank {}{}: {}", rank.number, where.empty() ? "" : ", on " + where, error.what()));
  }
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
  std::vector<std::unique_ptr<RemoteRank<Data>>> processes_;
  std::uint32_t session_ = 0;         // of the processes
  std::optional<RankImages> images_;  // between their GPUs; none: images go in messages
  const FaultSettings fault_;         // of one of the others
  std::atomic<bool> is_broken_ = false;
  std::int64_t largest_ = 0;  // data of the subset's largest batch
  PassClock clock_;
  double own_pass_s_ = 0;
  Stragglers stragglers_;
  std::vector<std::string> slow_ranks_;
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
      clock_(context.cancel_token()) {
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
  is_broken_ = false;
  largest_ = 0;
  if constexpr (Divisible<Data>)
    for (const auto& batch : pass.subset.batches) largest_ = std::max(largest_, range_size(*batch));
  if (!others_.empty() && is_on_devices()) {
    synchronize(nullptr);  // the estimate is there
    with_others([&](Other& other) { take_slab(other, pass.estimate); }, [] {}, context);
  }
  const auto own_images = images_ ? rank_group()->take_images() : std::unique_lock<std::mutex>();
  SubsetTally tally;
  begin_processes(pass, context);
  with_others([&](Other& other) { project_there(other, pass, context); },
              [&] { tally = project_here(pass, back, context); }, context);
  find_slow_ranks(tally);
  for (const auto& other : others_) tally += other->tally;
  for (const auto& process : processes_) tally += process->tally();
  add_up(back, context);
  return tally;
}

// The others' work beside one's own; ends when all have ended, since they use what the caller holds.
template <class Data>
template <class Work, class Own>
void Ranks<Data>::with_others(const Work& work, const Own& own, Context& context) {
  for (auto& other : others_) {
    other->progress.note();
    other->working = other->thread.begin([this, &work, &other] { breaking_others([&] { work(*other); }); });
  }
  std::exception_ptr failed;
  try {
    own();
  } catch (...) {
    is_broken_ = true;
    clock_.give_up();
    failed = std::current_exception();
  }
  wait_for_others(context);
  throw_cause(failed);
}

// Between two batches of the first rank, or of one of the others of its process.
template <class Data>
void Ranks<Data>::go_on(Context& context) const {
  if (is_broken_ || context.cancelled() || (session_ > 0 && rank_group()->failure(session_))) throw BrokenOff();
}

template <class Data>
void Ranks<Data>::wait_for_others(Context& context) {
  const auto began = std::chrono::steady_clock::now();
  for (auto& other : others_)
    wait_for_rank(
        other->working, other->progress, [this] { return clock_.patience(largest_); },
        fmt::format("rank {}{}", other->number, other->device.empty() ? "" : ", on " + other->device), context);
  for (auto& process : processes_)
    if (process->working.valid()) process->working.wait();
  waiting_s_ += detail::seconds_since(began);
}

// What was thrown first: by the first rank itself, or by another, of whom the first and others only broke off.
template <class Data>
void Ranks<Data>::throw_cause(const std::exception_ptr& own) {
  std::exception_ptr cause, broken;
  const auto note = [&](const auto& work) {
    try {
      work();
    } catch (const BrokenOff&) {
      broken = std::current_exception();
    } catch (...) {
      if (!cause) cause = std::current_exception();
    }
  };
  if (own) note([&] { std::rethrow_exception(own); });
  for (auto& other : others_) note([&] { naming(*other, other->device, [&] { other->working.get(); }); });
  for (auto& process : processes_)
    if (process->working.valid()) note([&] { naming(*process, process->device, [&] { process->working.get(); }); });
  if (cause) std::rethrow_exception(cause);
  // A process may have failed after it gave its sums.
  const auto failure = broken && session_ > 0 ? rank_group()->failure(session_) : std::nullopt;
  if (failure) throw RankFailed(failure->what);
  if (broken) std::rethrow_exception(broken);
}

template <class Data>
void Ranks<Data>::find_slow_ranks(const SubsetTally& own) {
  slow_ranks_.clear();
  if (division_.ranks == 1) return;
  const auto time_of = [](const SubsetTally& tally, double seconds) {
    return RankTime{tally.all.used + tally.all.skipped, seconds};
  };
  std::vector<RankTime> times{time_of(own, own_pass_s_)};
  for (const auto& other : others_) times.push_back(time_of(other->tally, other->pass_s));
  for (const auto& process : processes_) times.push_back(time_of(process->tally(), process->pass_s()));
  for (const Straggler& slow : stragglers_.note(times)) {
    const auto number = static_cast<std::size_t>(slow.rank);
    const std::string device = number == 0          ? ""
                               : processes_.empty() ? others_[number - 1]->device
                                                    : processes_[number - 1]->device;
    slow_ranks_.push_back(
        fmt::format("rank {}{}: over {} subsets it took {:.1f} times as long as the median rank for as "
                    "many data, and the others waited for it",
                    slow.rank, device.empty() ? "" : ", on " + device, Stragglers::window, slow.times));
  }
}

template <class Data>
void Ranks<Data>::add_processes(Context& context) {
  if constexpr (Sendable<Data>) {
    RankGroup& group = *rank_group();
    const std::int64_t voxels = model_.projector().grid().voxels();
    RankImagesPlace place;
    const std::string why_not = is_on_devices() ? group.why_not_nccl() : "";
    std::unique_lock<std::mutex> own_images;
    if (is_on_devices() && why_not.empty()) {
      own_images = group.take_images();
      place = {.is_used = 1, .id = new_nccl_id()};
    } else if (is_on_devices()) {
      own_added_ = Buffer<float>(memory_, voxels);
      context.log().info(fmt::format("images of ranks go through the hosts' memory and this process: {}", why_not));
    }
    session_ = group.new_session(context.name());
    const auto pack_geometry = [&](wire::PackWriter& to) { model_.pack_geometry(to); };
    for (int rank = 1; rank < division_.ranks; ++rank)
      processes_.push_back(std::make_unique<RemoteRank<Data>>(group, session_,
                                                              RankOpening{.grid = model_.projector().grid(),
                                                                          .backend = model_.projector().backend(),
                                                                          .ranks = division_.ranks,
                                                                          .rank = rank,
                                                                          .parts = division_.parts,
                                                                          .planned_from = planned_from_,
                                                                          .images = place},
                                                              context.name(), pack_geometry));
    for (auto& process : processes_)
      naming(*process, group.identity(process->number).host, [&] { process->wait_until_ready(clock_); });
    if (place.is_used != 0) images_.emplace(place, 0, division_.ranks, division_.parts, voxels);
  } else {
    throw std::invalid_argument("these data cannot be sent to other processes: start one (--join none)");
  }
}

// On the processes' own threads.
template <class Data>
template <class Work>
void Ranks<Data>::let_processes(const Work& work) {
  for (auto& process : processes_)
    process->working = process->thread.begin([this, work, &process] { breaking_others([&] { work(*process); }); });
}

// Each process is sent what it lacks, and answers. An estimate that does not go in messages is sent once all others are:
// until they have come, whoever exchanges images keeps this GPU waiting, from which messages may still be copied.
template <class Data>
void Ranks<Data>::begin_processes(const SubsetPass<Data>& pass, Context& context) {
  if constexpr (Sendable<Data>) {
    if (processes_.empty()) return;
    clock_.begin();
    const std::shared_ptr<const Image> in_message = images_ ? nullptr : pass.on_host();
    let_processes([this, &pass, in_message](RemoteRank<Data>& process) {
      begin_there(process, pass, in_message);
      if (in_message) process.end(clock_);
    });
    if (!images_) return;
    wait_for_others(context);
    throw_cause(nullptr);
    images_->send_estimate(pass.estimate.voxels.data());
    let_processes([this](RemoteRank<Data>& process) { process.end(clock_); });
  }
}

template <class Data>
void Ranks<Data>::begin_there(RemoteRank<Data>& process, const SubsetPass<Data>& pass,
                              const std::shared_ptr<const Image>& estimate) {
  if constexpr (Sendable<Data>) {
    std::vector<std::vector<typename RemoteRank<Data>::Piece>> parts(shares_of_rank(process.number));
    for (std::size_t share = 0; share < parts.size(); ++share) {
      const std::vector<Range> ranges = ranges_of(part_of(process.number, share), pass.subset);
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (ranges[i].size > 0)
          parts[share].push_back({pass.subset.batches[i], ranges[i], i >= pass.subset.first_new()});
    }
    process.begin(parts, estimate, pass.additive, memory_);
    if (pass.subset.step.iteration == pass.subset.step.iterations) process.forget(pass.subset);
  }
}

template <class Data>
void Ranks<Data>::add_up_processes(Image& back, Context& context) {
  if constexpr (Sendable<Data>) {
    if (!images_) return add_up_messages(back);
    std::vector<float*> own{back.voxels.data()};
    for (Image& sum : own_sums_) own.push_back(sum.voxels.data());
    const auto began = std::chrono::steady_clock::now();
    images_->add_up(own, [&] {
      go_on(context);
      for (auto& process : processes_) process->require_progress(began, clock_);
    });
  }
}

template <class Data>
void Ranks<Data>::add_up_messages(Image& back) {
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
    tally += project_part(own_[i], part_of(0, i), pass, pass.estimate, sum, context, at_work);
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
    other.tally +=
        project_part(other.shares[i], part_of(other.number, i), pass, estimate, other.sums[i], context, at_work);
  }
  if (is_on_devices()) synchronize(nullptr);
  other.pass_s = detail::seconds_since(began);
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
SubsetTally Ranks<Data>::project_part(Share<Data>& share, int part, const SubsetPass<Data>& pass, const Image& estimate,
                                      Image& back, Context& context, const AtWork& at_work) {
  const Subset<Data>& subset = pass.subset;
  const std::vector<Range> ranges = ranges_of(part, subset);
  const auto is_mine = [&](std::size_t i) { return division_.parts == 1 || ranges[i].size > 0; };
  SubsetTally tally;
  for (std::size_t i = 0; i < subset.batches.size(); ++i) {
    if (!is_mine(i)) continue;
    const auto& batch = subset.batches[i];
    if (tally.all.used + tally.all.skipped > 0) at_work.go_on();
    const auto turn = at_work.take_turn();
    const auto began = std::chrono::steady_clock::now();
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
    at_work.done(ranges[i].size, detail::seconds_since(began));
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
void Ranks<Data>::add_up(Image& back, Context& context) {
  if (division_.parts == 1) return;
  const auto began = std::chrono::steady_clock::now();
  if (!processes_.empty()) {
    add_up_processes(back, context);
  } else if (division_.ranks == 1 || !is_on_devices()) {
    for (int part = 1; part < division_.parts; ++part) add_difference(back, 1, sum_of(part, back));
  } else {
    synchronize(nullptr);  // the first rank's own sums are there
    Buffer<float> none;
    with_others([&](Other& other) { add_slab(other.number, other.slab, other.added, back); },
                [&] { add_slab(0, none, own_added_, back); }, context);
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
