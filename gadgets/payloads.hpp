// What travels on the edges of a reconstruction: bytes, events, subsets, back projections and
// estimates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/gadget/payload.hpp"
#include "core/gadget/spill.hpp"
#include "gadgets/spill_events.hpp"
#include "kernels/grid/choose_grid.hpp"
#include "kernels/operator/image_operator.hpp"
#include "kernels/types/conditions.hpp"
#include "kernels/types/em_tally.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/modality.hpp"
#include "kernels/types/post_filter.hpp"
#include "kernels/types/rejected.hpp"

namespace tofstream {

/// A piece of a byte stream, as it was read.
struct ByteBlock {
  ByteBlock() = default;
  ByteBlock(std::vector<std::byte> bytes, std::int64_t time_shift_ms = 0) : time_shift_ms(time_shift_ms) {
    const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    owner = kept;
    data = *kept;
  }
  /// Bytes that lie somewhere already, as in a frame, and are not copied: the block keeps their owner.
  ByteBlock(std::shared_ptr<const void> owner, std::span<const std::byte> data, std::int64_t time_shift_ms = 0)
      : owner(std::move(owner)), data(data), time_shift_ms(time_shift_ms) {}

  std::shared_ptr<const void> owner;  // of the data
  std::span<const std::byte> data;
  std::int64_t time_shift_ms = 0;  // to be added to the times of the PETSIRD time blocks in it
  std::size_t bytes() const { return data.size(); }
};

/// A stretch of the scan that has an image of its own.
struct ScanFrame {
  int number = 0;                      // from 1; 0: the scan is one image
  int frames = 0;                      // in all; 0: not known yet, and more will come
  double start_s = 0, duration_s = 0;  // scan time of its data
};

/// Where a subset stands in the run of updates.
struct UpdateStep {
  int iteration = 1;  // from 1; 0: no update, the image stays what it is
  int iterations = 1;
  int subset = 0;   // its place in the iteration, from 0
  int subsets = 0;  // 0 while a live stream has not ended
  bool ends_iteration = false;
  bool last = false;         // no update follows
  std::int64_t update = 0;   // its number in the run, from 1; 0: not counted
  bool replayed = false;     // its events were reconstructed before, whatever the iteration
  bool restart = false;      // discards what the update has learned, and the estimate: the start image comes out
  bool keeps_image = false;  // of a restart: but not the image, which comes out again
  int number = 0;            // of the subset, the same in each iteration, whatever its place
  int round = 0;             // of data that grow: which update with the subset as it stands; 0: iteration says it
  bool passed = false;       // its data were not projected, since the estimate is at rest: no update was made
  bool recalled = false;     // of a frame whose image a checkpoint has: the last update, which is not made again
  int gate = 0;              // whose data these are, from 1; 0: data of no gate
  ScanFrame frame = {};      // iterations and subsets are its own; of a gate: its number, and its time in all
  bool is_joint = false;     // of frames that are updated together: a subset of each, from the first frame to the last

  /// Which pass over the subset's data as they stand this is, from 1.
  int pass() const { return round > 0 ? round : iteration; }
  /// Whether the frame's image is complete with this update.
  bool ends_frame() const { return frame.number > 0 && ends_iteration && iteration == iterations; }
};

/// The data of one update, in batches of the size that a projector takes, and their share of the reference time.
/// `Data`: an owned batch, such as EventBatch; different kinds are different payloads, so that a pipeline which gives
/// one to a projector of another is refused before any data flow.
template <class Data>
struct Subset {
  UpdateStep step;
  std::vector<std::shared_ptr<const Data>> batches;
  double time_fraction = 1;  // T_k / T of s_k = s T_k / T (conventions.md, list-mode EM)
  // Those of the subset that follows, which may be copied to a GPU before it comes; none where they are not known.
  std::vector<std::shared_ptr<const Data>> next_batches = {};
  // Only an announcement has it: a batch without data, which names the scanner of the data to come. Of views it may
  // have all of them without their counts, where each pixel has a sensitivity of its own.
  std::shared_ptr<const Data> announced = {};
  // Its batches are not sent again: a projector need not keep what it prepares of them.
  bool is_last_time = false;
  // Number of batches at the beginning that were part of an earlier update, though the subset as a whole was not.
  std::size_t known_batches = 0;
  // What an image of the data so far shows, its reference time included; null: not known.
  std::shared_ptr<const Quantity> quantity = {};
  // The mean over the scan, which the sensitivity is to have.
  Conditions conditions = {};
  // T_g/T of every gate in a pass over all of them, as time_fraction says it of a subset; null: not gated.
  std::shared_ptr<const std::vector<double>> gate_times = {};

  /// A batch that names the scanner: the announcement's, or the first one. Null where there is neither.
  const Data* sample() const { return announced ? announced.get() : batches.empty() ? nullptr : batches.front().get(); }
  /// The first batch that was not part of an update before; a replayed subset has none.
  std::size_t first_new() const { return step.iteration == 1 && !step.replayed ? known_batches : batches.size(); }
  /// Events that were not part of an update before.
  std::uint64_t event_count() const { return events_from(first_new()); }
  std::uint64_t size() const { return events_from(0); }
  std::uint64_t events_from(std::size_t first) const {
    std::uint64_t sum = 0;
    for (std::size_t i = first; i < batches.size(); ++i) sum += batches[i]->event_count();
    return sum;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& batch : batches) sum += batch->bytes();
    return sum;
  }
};

using EventSubset = Subset<EventBatch>;

/// The subset before all others. From it the projector learns the scanner, so that it can choose the image's grid and
/// compute the sensitivity while the first data are still coming. `like`: a batch without data.
template <class Data>
Subset<Data> announcement_of(Data like) {
  return {.step = {.iteration = 0, .replayed = true},
          .batches = {},
          .announced = std::make_shared<const Data>(std::move(like))};
}

/// Tells the update to restart. It has no data and takes its place in the order of the subsets.
template <class Data>
Subset<Data> restart_of(std::int64_t update, bool keeps_image = false) {
  return {.step = {.iteration = 0, .update = update, .replayed = true, .restart = true, .keeps_image = keeps_image},
          .batches = {}};
}

/// An operator that an estimate's image went through between the update and a projector.
struct AppliedOperator {
  std::shared_ptr<const ImageOperator> image_operator;
  std::string name;       // of its gadget
  bool is_basis = false;  // what it takes are coefficients, and what it gives is the image that the user wants
  // Where subsets go through different operators: its adjoint is their mean, weighted with their time. Null: this one
  // operator is all subsets'.
  std::shared_ptr<const ImageOperator> mean = {};
  double time = 1;  // T/T_ref of all subsets together, where there is a mean
  friend bool operator==(const AppliedOperator&, const AppliedOperator&) = default;
};

/// A^T(1 / (A x + c/m)) of one subset, and what else an update needs. A includes the operators that the estimate went
/// through.
struct Projected {
  UpdateStep step;
  std::shared_ptr<const Image> back_projection;  // null of a step that was passed
  // Times time_fraction, the subset's own sensitivity. For subsets in time order it is the sensitivity of the whole
  // reference time; otherwise the subset's share of `support`, with the time_fraction of the whole: 1 for views. In the
  // memory of the back projection.
  std::shared_ptr<const Image> sensitivity;
  double time_fraction = 1;
  EmTally tally;
  std::shared_ptr<const Quantity> quantity = {};  // of an image that is updated with it; null: not known
  // The sensitivity of the whole, which says where there is an image; null: `sensitivity` says it.
  std::shared_ptr<const Image> support = {};
  Rejected rejected = {};            // of all the projector's data so far
  std::uint64_t events = 0;          // those data, rejected ones too
  std::string coefficients_of = {};  // gadgets whose coefficients the update makes; empty: it makes the image
  Modality modality = Modality::unknown;
  std::size_t bytes() const { return back_projection ? back_projection->bytes() : 0; }
};

/// A copy on the host of an image that lies on a GPU, made at the first request and shared by all who ask: writers,
/// pictures, pages and wires. It lies in page-locked memory, which the program keeps for the next copy.
class HostCopy {
 public:
  std::shared_ptr<const Image> of(const Image& image) {
    const std::lock_guard lock(mutex_);
    if (copy_) return copy_;
    auto copy = std::make_shared<const Image>(image.to(Memory::pinned));
    synchronize(nullptr);
    return copy_ = std::move(copy);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Image> copy_;
};

/// The image after an update; `step.iteration` 0 is the start image. If the scanner decides the grid (`image: auto`),
/// an announcement comes before it, to projectors only: it has a wish for the grid and no image.
struct Estimate {
  UpdateStep step;
  std::shared_ptr<const Image> image;             // null in an announcement
  std::shared_ptr<const Quantity> quantity = {};  // what its values are; null: not known, as for a start image
  std::optional<GridWish> wish = {};              // of an announcement; with an image, what its grid must be
  std::shared_ptr<HostCopy> host_copy = std::make_shared<HostCopy>();  // of this image: see on_host()
  Rejected rejected = {};    // of the data of all updates so far, those before a checkpoint included
  std::uint64_t events = 0;  // those data, rejected ones too
  // What it went through since the update made it; none: nothing, unless that makes coefficients, which this says too.
  PostFilters filters = {};
  std::map<std::string, double> kept = {};  // by the update's algorithm, by name: goes into a checkpoint
  std::string algorithm = {};               // the gadget that made the update
  // What a run that was killed goes on from, where that is an estimate before this one; null: from this one.
  std::shared_ptr<const Estimate> resumes_at = {};
  std::vector<AppliedOperator> through = {};  // since the update gave it, the first one first
  Modality modality = Modality::unknown;
  // No further update is wanted with the data of this pass: a projector answers their subsets without projecting them
  // (UpdateStep::passed), and the update answers that by an announcement, so that nobody else sees it.
  bool is_at_rest = false;

  /// The same estimate as another image of the same quantity: filtered, or on another grid.
  Estimate with(std::shared_ptr<const Image> other) const {
    return {.step = step,
            .image = std::move(other),
            .quantity = quantity,
            .rejected = rejected,
            .events = events,
            .filters = filters,
            .through = through,
            .modality = modality,
            .is_at_rest = is_at_rest};
  }
  bool is_announcement() const { return !image; }
  std::size_t bytes() const { return image ? image->bytes() : 0; }
};

/// The estimate's image where the host can read it. It is copied only if it lies on a device, once for all who ask.
inline std::shared_ptr<const Image> on_host(const Estimate& estimate) {
  return on_host(estimate.image->voxels.memory()) ? estimate.image : estimate.host_copy->of(*estimate.image);
}

template <>
struct PayloadName<ByteBlock> {
  static constexpr auto value = "bytes";
};
template <>
struct Spill<ByteBlock> {
  static void encode(const ByteBlock& block, SpillWriter& to) {
    to.array(block.data);
    to.value(block.time_shift_ms);
  }
  static ByteBlock decode(SpillReader& from) {
    auto data = from.array<std::byte>();
    return ByteBlock(std::move(data), from.value<std::int64_t>());
  }
};
template <>
struct PayloadName<EventBatch> {
  static constexpr auto value = "events";
};
template <>
struct PayloadName<EventSubset> {
  static constexpr auto value = "subset of events";
};
template <>
struct PayloadName<Projected> {
  static constexpr auto value = "back projection";
};
template <>
struct PayloadName<Estimate> {
  static constexpr auto value = "estimate";
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
