// The ranks of one gadget that are other processes, all together, as the first one's Ranks (ranks.hpp) have them: what
// each is asked for in a pass, how images get there and back, and what their sums make.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/step/division.hpp"
#include "gadgets/step/rank_errors.hpp"
#include "gadgets/step/remote_rank.hpp"
#include "gadgets/step/subset_pass.hpp"
#include "kernels/collective/made_in_time.hpp"
#include "kernels/em/image_sum.hpp"

namespace tofstream {

/// There are none for data that cannot be sent.
template <class Data>
class RemoteRanks {
 public:
  RemoteRanks(const Division&, std::int64_t, SystemModel<Data>&, const Dealing&, PassClock&, std::function<void()>,
              Context&) {
    throw std::invalid_argument("these data cannot be sent to other processes: start one (--join none)");
  }
  const std::vector<std::unique_ptr<RemoteRank<Data>>>& all() const { return all_; }
  std::string images_by() const { return ""; }
  std::unique_lock<std::mutex> take_images() { return {}; }
  void begin(const SubsetPass<Data>&) {}
  void wait() {}
  void note_errors(RankErrors&) {}
  void add_up(Image&, std::span<Image>, const std::function<void()>&) {}
  std::optional<RankFailure> failure() const { return {}; }

 private:
  std::vector<std::unique_ptr<RemoteRank<Data>>> all_;
};

template <class Data>
requires Sendable<Data>
class RemoteRanks<Data> {
 public:
  /// Waits until each process has its projector. `clock`: the first rank's. `failed`: called on any thread where a
  /// process throws or is lost, so that the first breaks off. All arguments but `division` outlive the ranks. Throws
  /// what a projector's maker throws there, with the rank's name, and RankFailed.
  RemoteRanks(const Division& division, std::int64_t planned_from, SystemModel<Data>& model, const Dealing& dealing,
              PassClock& clock, std::function<void()> failed, Context& context)
      : division_(division),
        model_(model),
        dealing_(dealing),
        clock_(clock),
        failed_(std::move(failed)),
        memory_(memory_of(model.projector().backend())) {
    RankGroup& group = *rank_group();
    const std::int64_t voxels = model.projector().grid().voxels();
    session_ = group.new_session(context.name());
    std::unique_lock<std::mutex> own_images;
    const std::string why_not = on_host(memory_) ? group.why_not_mpi() : group.why_not_nccl();
    RankImagesPlace place;
    if (why_not.empty()) {
      own_images = group.take_images();
      place = {.by = on_host(memory_) ? ImagesBy::mpi : ImagesBy::nccl, .tag = session_, .id = {}};
      if (!on_host(memory_)) place.id = new_nccl_id();
    } else {
      if (!on_host(memory_)) added_ = Buffer<float>(memory_, voxels);
      context.log().info(fmt::format("images of ranks go in messages through this process: {}", why_not));
    }
    open(planned_from, place, context);
    for (auto& rank : all_)
      naming_rank(rank->number, group.identity(rank->number).host, [&] { rank->wait_until_ready(clock_); });
    if (place.by != ImagesBy::messages) join(place, voxels);
  }

  const std::vector<std::unique_ptr<RemoteRank<Data>>>& all() const { return all_; }
  /// How images get to them and back.
  std::string images_by() const {
    if (!images_) return "messages";
    return images_->by() == ImagesBy::nccl ? "nccl" : "mpi";
  }
  /// To be held from before begin() until after add_up().
  std::unique_lock<std::mutex> take_images() {
    return images_ ? rank_group()->take_images() : std::unique_lock<std::mutex>();
  }

  /// Each is sent what it lacks, and answers. An estimate that does not go in messages is sent once all others are:
  /// until they have come, whoever exchanges images keeps this GPU waiting, from which messages may still be copied.
  /// Throws what note_errors() notes.
  void begin(const SubsetPass<Data>& pass) {
    clock_.begin();
    const std::shared_ptr<const Image> in_message = images_ ? nullptr : pass.on_host();
    let_all([this, &pass, in_message](RemoteRank<Data>& rank) {
      ask(rank, pass, in_message);
      if (in_message) rank.end(clock_);
    });
    if (!images_) return;
    wait();
    RankErrors errors;
    note_errors(errors);
    errors.rethrow();
    images_->send_estimate(pass.estimate.voxels.data());
    let_all([this](RemoteRank<Data>& rank) { rank.end(clock_); });
  }

  /// Until all have answered, or their waits are over.
  void wait() {
    for (auto& rank : all_)
      if (rank->working.valid()) rank->working.wait();
  }

  /// What they threw, with their names.
  void note_errors(RankErrors& errors) {
    for (auto& rank : all_)
      if (rank->working.valid())
        errors.note([&] { naming_rank(rank->number, rank->device, [&] { rank->working.get(); }); });
  }

  /// back, the sum of part 0, becomes the sum of all parts in their order. `own`: the first rank's others. `go_on`: see
  /// RankTransport::wait().
  void add_up(Image& back, std::span<Image> own, const std::function<void()>& go_on) {
    if (!images_) return add_up_messages(back, own);
    std::vector<float*> sums{back.voxels.data()};
    for (Image& sum : own) sums.push_back(sum.voxels.data());
    auto moved_at = std::chrono::steady_clock::now();
    images_->add_up(
        sums,
        [&] {
          go_on();
          for (auto& rank : all_) rank->require_progress(moved_at, clock_);
        },
        [&] { moved_at = std::chrono::steady_clock::now(); });
  }

  /// What ended the use of these ranks first.
  std::optional<RankFailure> failure() const { return rank_group()->failure(session_); }

 private:
  // NCCL does not know which of them it waits for, or where they are.
  void join(const RankImagesPlace& place, std::int64_t voxels) try {
    images_.emplace(place, 0, division_.ranks, division_.parts, voxels);
  } catch (const NotInTime& late) {
    std::string others;
    for (const auto& rank : all_)
      others += fmt::format("{}rank {} on {}", others.empty() ? "" : ", ", rank->number,
                            rank_group()->identity(rank->number).host);
    throw std::runtime_error(fmt::format(
        "{} ({}): do their hosts reach each other by the network device that NCCL takes (NCCL_SOCKET_IFNAME)? "
        "--rank-images messages goes without it",
        late.what(), others));
  }

  void open(std::int64_t planned_from, const RankImagesPlace& place, Context& context) {
    RankGroup& group = *rank_group();
    const auto pack_geometry = [&](wire::PackWriter& to) { model_.pack_geometry(to); };
    for (int rank = 1; rank < division_.ranks; ++rank)
      all_.push_back(std::make_unique<RemoteRank<Data>>(group, session_,
                                                        RankOpening{.grid = model_.projector().grid(),
                                                                    .backend = model_.projector().backend(),
                                                                    .ranks = division_.ranks,
                                                                    .rank = rank,
                                                                    .parts = division_.parts,
                                                                    .planned_from = planned_from,
                                                                    .images = place},
                                                        context.name(), pack_geometry));
  }

  // On their own threads.
  template <class Work>
  void let_all(const Work& work) {
    for (auto& rank : all_)
      rank->working = rank->thread.begin([this, work, &rank] {
        try {
          work(*rank);
        } catch (...) {
          failed_();
          throw;
        }
      });
  }

  void ask(RemoteRank<Data>& rank, const SubsetPass<Data>& pass, const std::shared_ptr<const Image>& estimate) {
    std::vector<std::vector<typename RemoteRank<Data>::Piece>> parts;
    for (int part = rank.number; part < division_.parts; part += division_.ranks) {
      auto& pieces = parts.emplace_back();
      const std::vector<Range> ranges = ranges_of_part(dealing_, part, pass.subset.batches);
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (ranges[i].size > 0) pieces.push_back({pass.subset.batches[i], ranges[i], i >= pass.subset.first_new()});
    }
    if (division_.is_measured) rank.forget_others(pass.subset, parts);
    rank.begin(parts, estimate, pass.additive, memory_);
    if (pass.subset.is_last_time) rank.forget(pass.subset);
  }

  void add_up_messages(Image& back, std::span<Image> own) {
    const std::int64_t voxels = back.voxels.size();
    for (int part = 1; part < division_.parts; ++part) {
      const auto rank = static_cast<std::size_t>(part % division_.ranks),
                 share = static_cast<std::size_t>(part / division_.ranks);
      const float* plus = rank == 0 ? own[share - 1].voxels.data() : all_[rank - 1]->sum(share).data();
      if (rank > 0 && !on_host(memory_)) {
        detail::copy(added_.data(), memory_, plus, Memory::host, sizeof(float) * static_cast<std::size_t>(voxels),
                     nullptr);
        plus = added_.data();
      }
      add_values(back.voxels.data(), plus, voxels, memory_);
    }
    if (!on_host(memory_)) synchronize(nullptr);
    for (auto& rank : all_) rank->release_sums();
  }

  const Division division_;
  SystemModel<Data>& model_;
  const Dealing& dealing_;
  PassClock& clock_;
  const std::function<void()> failed_;
  const Memory memory_;
  std::uint32_t session_ = 0;
  std::vector<std::unique_ptr<RemoteRank<Data>>> all_;
  std::optional<RankImages> images_;  // none: images go in messages
  Buffer<float> added_;               // on a GPU, where they go in messages
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
