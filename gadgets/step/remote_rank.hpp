// A rank that is another process, as the first one's Ranks (ranks.hpp) have it: it is sent each part of a batch once,
// then an estimate for each subset, and answers with the back projections of its parts. Between GPUs the images may go
// another way (rank_images.hpp). rank_service.hpp is its other end.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gadgets/additive.hpp"
#include "gadgets/io/wire/packed_data.hpp"
#include "gadgets/io/wire/packed_lines.hpp"
#include "gadgets/ranks/rank_group.hpp"
#include "gadgets/step/rank_images.hpp"
#include "gadgets/step/share.hpp"
#include "gadgets/step/subset_tally.hpp"
#include "kernels/memory/device_thread.hpp"

namespace tofstream {

/// What many batches share and a rank is sent once.
inline const std::shared_ptr<const DetectorTable>& shared_table(const EventBatch& batch) {
  return batch.detectors;
}
inline const std::shared_ptr<const ViewSet>& shared_table(const ViewBatch& batch) {
  return batch.set;
}

/// What a rank is sent with a batch: of bins that join several lines, these.
inline void pack_more(wire::PackWriter& to, const EventBatch& batch) {
  wire::pack_bin_pairs(to, batch.scanner ? batch.scanner->lines.get() : nullptr, batch.bin.span());
}
inline void pack_more(wire::PackWriter&, const ViewBatch&) {}

/// Data that can be sent to ranks of other processes.
template <class Data>
concept Sendable = Divisible<Data> && requires(wire::PackWriter& to, const std::shared_ptr<const Data>& batch) {
  wire::pack(to, batch);
  shared_table(*batch);
};

/// What a message `open` says after the gadget's name; the geometry follows.
struct RankOpening {
  Grid grid;
  Backend backend = Backend::cpu;
  int ranks = 1, rank = 0, parts = 1;  // see Division
  std::int64_t planned_from = 0;       // see StepSettings
  RankImagesPlace images;
};

/// A batch in a pass, as it is sent.
struct PassEntry {
  std::uint64_t batch = 0;  // its number
  std::uint32_t is_new = 0, has_terms = 0;
};

/// How long the first rank takes for its data, which is the others' measure, and whether it still needs theirs.
class PassClock {
 public:
  using Clock = std::chrono::steady_clock;
  explicit PassClock(std::stop_token cancel) : cancel_(std::move(cancel)) {}

  void begin() { is_over_ = false; }
  /// Nobody needs what others project.
  void give_up() { is_over_ = true; }
  bool is_over() const { return is_over_ || cancel_.stop_requested(); }

  /// The first rank has projected so many data.
  void note(std::int64_t data, double seconds) {
    seconds_ += seconds;
    data_ += data;
  }
  /// The longest time for which a rank may get no further where it projects so many data at a time: ten times as long as
  /// the first takes for as many, and eight seconds. Ten minutes where the first has not projected any yet.
  Clock::duration patience(std::int64_t data) const {
    constexpr std::chrono::duration<double> at_least{8}, unmeasured{600};
    if (data_ == 0) return std::chrono::duration_cast<Clock::duration>(unmeasured);
    const double measure = seconds_ / static_cast<double>(data_) * static_cast<double>(data);
    return std::chrono::duration_cast<Clock::duration>(at_least + std::chrono::duration<double>(10 * measure));
  }

 private:
  std::stop_token cancel_;
  std::atomic<bool> is_over_ = false;
  std::atomic<std::int64_t> data_ = 0;
  std::atomic<double> seconds_ = 0;
};

/// There are none for a kind of data that cannot be sent.
template <class Data>
struct RemoteRank {
  const int number = 0;
  std::string device;
  std::future<void> working;
  SubsetTally tally() const { return {}; }
  ShareFigures figures() const { return {}; }
  double pass_s() const { return 0; }
  double adding_s() const { return 0; }
};

template <class Data>
requires Sendable<Data>
class RemoteRank<Data> {
 public:
  /// A part's ranges of the batches of a subset, those without data left out.
  struct Piece {
    std::shared_ptr<const Data> batch;
    Range range;
    bool is_new = false;
  };

  /// The rank makes its projector. Throws what it throws there.
  RemoteRank(RankGroup& group, std::uint32_t session, const RankOpening& opening, const std::string& gadget,
             const std::function<void(wire::PackWriter&)>& pack_geometry)
      : number(opening.rank),
        thread(current_device()),
        channel_(group, opening.rank, session),
        has_images_in_messages_(opening.images.by == ImagesBy::messages),
        voxels_(opening.grid.voxels()) {
    wire::PackWriter to;
    to.text(gadget);
    to.value(opening);
    pack_geometry(to);
    channel_.send(RankMessageKind::open, to.take());
  }
  /// Waits for the projector, which takes a rank some seconds at most.
  void wait_until_ready(const PassClock& clock) {
    const RankWait wait{.patience = [] { return std::chrono::seconds(60); },
                        .is_over = [&] { return clock.is_over(); }};
    const RankMessage ready = channel_.answer(RankMessageKind::ready, wait);
    device = fmt::format("{}: {}", channel_.host(), text_of(ready));
  }

  /// Asks for the rank's parts, in their order, against the estimate, which lies on the host, or is null where it goes
  /// another way. `memory`: of the first rank's projector, where terms are written. On the rank's thread.
  void begin(const std::vector<std::vector<Piece>>& parts, const std::shared_ptr<const Image>& estimate,
             const Additive<Data>* additive, Memory memory) {
    forget_expired();
    wire::PackWriter to;
    if (estimate) to.array(std::span<const float>(estimate->voxels.span()), estimate);
    to.value(static_cast<std::uint32_t>(parts.size()));
    parts_ = parts.size();
    largest_ = 0;
    for (const auto& part : parts) {
      std::vector<PassEntry> entries;
      for (const Piece& piece : part) {
        entries.push_back(entry_of(piece, additive, memory));
        largest_ = std::max(largest_, piece.range.size);
      }
      to.array(std::span<const PassEntry>(entries), nullptr);
    }
    channel_.send(RankMessageKind::pass, to.take());
  }
  /// Waits for the answer. On the rank's thread.
  void end(const PassClock& clock) {
    sums_ = channel_.answer(RankMessageKind::sums, {.patience = [&] { return clock.patience(largest_); },
                                                    .is_over = [&] { return clock.is_over(); }});
    read_sums();
  }
  /// The sums are not needed any more.
  void release_sums() {
    sum_of_part_.clear();
    sums_ = {};
  }
  /// While images are exchanged, which began then: throws what end() throws.
  void require_progress(std::chrono::steady_clock::time_point began, const PassClock& clock) {
    channel_.require_progress(
        began, {.patience = [&] { return clock.patience(0); }, .is_over = [&] { return clock.is_over(); }});
  }

  /// The batches will not come again.
  void forget(const Subset<Data>& subset) { forget_others(subset, {}); }
  /// What is known of the subset's batches and is in none of these parts will not come again.
  void forget_others(const Subset<Data>& subset, const std::vector<std::vector<Piece>>& parts) {
    std::vector<std::uint64_t> gone;
    std::erase_if(known_, [&](const auto& known) {
      const Data* const batch = known.first.first;
      const std::int64_t first = known.first.second;
      const auto is_it = [&](const Piece& piece) { return piece.batch.get() == batch && piece.range.first == first; };
      const bool is_gone =
          std::ranges::any_of(subset.batches, [&](const auto& of_it) { return of_it.get() == batch; }) &&
          std::ranges::none_of(parts, [&](const auto& part) { return std::ranges::any_of(part, is_it); });
      if (is_gone) gone.push_back(known.second.number);
      return is_gone;
    });
    tell_forgotten(gone);
  }

  /// The tally, the sums and the times of the last pass.
  const SubsetTally& tally() const { return tally_; }
  std::span<const float> sum(std::size_t share) const { return sum_of_part_[share]; }
  const ShareFigures& figures() const { return figures_; }
  /// What the pass took the rank itself.
  double pass_s() const { return pass_s_; }
  /// What it has taken to add up sums with others, until the last pass began.
  double adding_s() const { return adding_s_; }

  const int number;
  DeviceThread thread;
  std::future<void> working;
  std::string device;

 private:
  using Table = std::remove_reference_t<decltype(*shared_table(std::declval<const Data&>()))>;
  struct Known {
    std::weak_ptr<const Data> batch;
    Range range;
    std::uint64_t number = 0;
    std::shared_ptr<const AdditiveTerms<Data>> terms = {};  // that were sent last
  };

  PassEntry entry_of(const Piece& piece, const Additive<Data>* additive, Memory memory) {
    Known& known = known_[{piece.batch.get(), piece.range.first}];
    if (known.number == 0 || known.batch.lock() != piece.batch || known.range != piece.range) send_batch(piece, known);
    const bool has_terms = additive && additive->terms;
    if (has_terms && known.terms != additive->terms) send_terms(piece, known, additive->terms, memory);
    return {known.number, piece.is_new ? 1u : 0u, has_terms ? 1u : 0u};
  }

  void send_batch(const Piece& piece, Known& known) {
    if (known.number > 0) tell_forgotten({known.number});
    known = {piece.batch, piece.range, ++numbers_, {}};
    const std::uint32_t table = number_of_table(shared_table(*piece.batch));
    wire::PackWriter to;
    to.value(known.number);
    to.value(std::uint64_t{table});
    const auto there = on_the_host(piece);
    wire::pack(to, there);
    pack_more(to, *there);
    channel_.send(RankMessageKind::batch, to.take());
  }

  // A batch that lies on the host as a whole is sent from there.
  static std::shared_ptr<const Data> on_the_host(const Piece& piece) {
    const bool is_there = on_host(piece.batch->memory());
    if (is_there && piece.range == whole_of(*piece.batch)) return piece.batch;
    auto copy = std::make_shared<const Data>(range_of(*piece.batch, piece.range, Memory::host, nullptr));
    if (!is_there) synchronize(nullptr);
    return copy;
  }

  void send_terms(const Piece& piece, Known& known, const std::shared_ptr<const AdditiveTerms<Data>>& terms,
                  Memory memory) {
    const Data there = copy_of(*piece.batch, piece.range, memory);
    Buffer<float> values(memory, there.count);
    terms->write(there, values.data());
    const auto sent = std::make_shared<const std::vector<float>>(values.to_vector());
    wire::PackWriter to;
    to.value(known.number);
    to.array(std::span<const float>(*sent), sent);
    channel_.send(RankMessageKind::terms, to.take());
    known.terms = terms;
  }

  std::uint32_t number_of_table(const std::shared_ptr<const Table>& table) {
    if (!table) return 0;
    const auto known = tables_.find(table.get());
    if (known != tables_.end() && known->second.first.lock() == table) return known->second.second;
    wire::PackWriter to;
    to.value(std::uint64_t{++table_numbers_});
    wire::pack(to, *table);
    channel_.send(RankMessageKind::table, to.take());
    tables_[table.get()] = {table, table_numbers_};
    return table_numbers_;
  }

  void forget_expired() {
    std::vector<std::uint64_t> gone;
    std::erase_if(known_, [&](const auto& known) {
      if (!known.second.batch.expired()) return false;
      gone.push_back(known.second.number);
      return true;
    });
    tell_forgotten(gone);
  }

  void tell_forgotten(const std::vector<std::uint64_t>& numbers) {
    if (numbers.empty()) return;
    wire::PackWriter to;
    to.array(std::span<const std::uint64_t>(numbers), nullptr);
    channel_.send(RankMessageKind::forget, to.take());
  }

  void read_sums() {
    wire::PackReader from(*sums_.body);
    tally_ = from.value<SubsetTally>();
    figures_ = from.value<ShareFigures>();
    pass_s_ = from.value<double>();
    adding_s_ = from.value<double>();
    sum_of_part_.clear();
    for (std::size_t part = 0; has_images_in_messages_ && part < parts_; ++part) {
      sum_of_part_.push_back(from.array<float>());
      if (static_cast<std::int64_t>(sum_of_part_.back().size()) != voxels_)
        wire::PackReader::refuse("a sum is not the image's");
    }
    from.require_end();
  }

  RankChannel channel_;
  const bool has_images_in_messages_;
  const std::int64_t voxels_;
  std::size_t parts_ = 0;                                        // of the pass
  std::int64_t largest_ = 0;                                     // data of its largest piece
  std::map<std::pair<const Data*, std::int64_t>, Known> known_;  // by batch and the first datum
  std::map<const Table*, std::pair<std::weak_ptr<const Table>, std::uint32_t>> tables_;
  std::uint64_t numbers_ = 0;
  std::uint32_t table_numbers_ = 0;
  RankMessage sums_;  // that the spans are of
  std::vector<std::span<const float>> sum_of_part_;
  SubsetTally tally_;
  ShareFigures figures_;
  double pass_s_ = 0, adding_s_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
