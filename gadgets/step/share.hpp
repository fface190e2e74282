// A projector's share in a reconstruction: the ranges of batches that it projects, on which device, and what it keeps of
// them for later iterations. Step (step.hpp) has one, or one for each rank (ranks.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "gadgets/additive.hpp"
#include "gadgets/step/system_model.hpp"
#include "kernels/project/data_feed.hpp"

namespace tofstream {
namespace detail {

inline double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace detail

/// What a share has done so far.
struct ShareFigures {
  std::int64_t data = 0;       // in all passes
  double planning_s = 0;       // of plans made before a pass; others are part of the pass
  double kept_planning_s = 0;  // of those among them that are kept for later passes
  double looking_up_terms_s = 0;
  double projecting_s = 0;
  std::size_t copied_bytes = 0;  // from the host to the GPU
  double copying_s = 0;

  ShareFigures& operator+=(const ShareFigures& other) {
    data += other.data;
    planning_s += other.planning_s;
    kept_planning_s += other.kept_planning_s;
    looking_up_terms_s += other.looking_up_terms_s;
    projecting_s += other.projecting_s;
    copied_bytes += other.copied_bytes;
    copying_s += other.copying_s;
    return *this;
  }
};

/// `Data`: see Subset; it also needs what DataFeed asks for, and `count`. Every call is made on the share's own thread,
/// whose current device is the projector's.
template <class Data>
class Share {
 public:
  /// `projector` and `views` outlive the share. `rank`: batches in device memory lie on the device of rank 0. `ranks`:
  /// all that share the data, so that a rank's may find room on its GPU where all of them have none.
  Share(Projector<ViewOf<Data>>& projector, const DataViews<Data>& views, int rank, int ranks)
      : projector_(projector),
        views_(views),
        memory_(memory_of(projector.backend())),
        track_(rank == 0 ? "GPU" : "GPU " + std::to_string(rank)),
        has_batches_(rank == 0),
        is_alone_(ranks == 1) {}

  struct Result {
    EmTally tally;
    bool has_plan = false;
  };
  /// back += A^T(y / (A x + c/m)) of a range of the batch. `comes_again`: in a later pass, so that it is worth while to
  /// keep what is prepared. `meanwhile` is called once the range is there, so that another copy may begin.
  Result em_step(const std::shared_ptr<const Data>& batch, Range range, bool comes_again,
                 const Additive<Data>* additive, const float* image, float* back,
                 const std::function<void()>& meanwhile, Context& context);

  /// Begins to copy a range of a batch from the host, for a later em_step. Nothing to do where nothing is to be copied.
  void begin_copy(const std::shared_ptr<const Data>& batch, Range range) {
    if (on_host(memory_) || !batch || kept_of(batch, range)) return;
    feed_.begin(batch, range);
  }
  /// The batch will not come again.
  void forget(const std::shared_ptr<const Data>& batch) { kept_.erase(batch.get()); }

  const ShareFigures& figures() const { return figures_; }

 private:
  // A batch in the projector's memory, and what the projector has prepared for it.
  struct Prepared {
    std::weak_ptr<const Data> batch;
    Range range = {};
    bool is_copy = false;  // the batch lies in another memory
    Data copy = {};        // of the range
    std::unique_ptr<ProjectionPlan> plan = nullptr;
    Buffer<float> additive = {};  // of `terms`; has room for them where there will be some
    std::shared_ptr<const AdditiveTerms<Data>> terms = {};
    std::int64_t number = 0;  // of those that were kept

    std::size_t bytes() const { return copy.bytes() + (plan ? plan->bytes() : 0) + additive.bytes(); }
  };

  Prepared* kept_of(const std::shared_ptr<const Data>& batch, Range range);
  Prepared& prepare(const std::shared_ptr<const Data>& batch, Range range, bool comes_again, bool has_terms,
                    Context& context);
  void copy_range(const std::shared_ptr<const Data>& batch, Prepared& prepared);
  std::unique_ptr<ProjectionPlan> plan_of(const ViewOf<Data>& view);
  void make_room();
  void drop_newest();
  /// GPU memory that what is kept leaves free: for a batch like the largest so far while it is planned, and for a pass.
  std::size_t room_to_leave() const { return 2 * largest_bytes_ + (std::size_t{1} << 30); }
  ViewOf<Data> view_of(const Data& batch, Prepared& prepared, const Additive<Data>* additive);
  static ViewOf<Data> range_in(const ViewOf<Data>& whole, Range range) {
    if constexpr (Divisible<Data>) return range_of(whole, range);
    return whole;
  }

  Projector<ViewOf<Data>>& projector_;
  const DataViews<Data>& views_;
  Memory memory_;
  std::string track_;  // of the run's trace
  bool has_batches_, is_alone_;
  std::unordered_map<const Data*, Prepared> kept_;
  Prepared unkept_;
  std::size_t largest_bytes_ = 0;  // of what was prepared
  std::int64_t ever_kept_ = 0;
  Buffer<float> room_;  // of the newest view
  DataFeed<Data> feed_;
  ShareFigures figures_;
};

template <class Data>
typename Share<Data>::Result Share<Data>::em_step(const std::shared_ptr<const Data>& batch, Range range,
                                                  bool comes_again, const Additive<Data>* additive, const float* image,
                                                  float* back, const std::function<void()>& meanwhile,
                                                  Context& context) {
  Prepared& prepared = prepare(batch, range, comes_again, additive != nullptr, context);
  meanwhile();
  const ViewOf<Data> view = view_of(*batch, prepared, additive);
  const auto began = std::chrono::steady_clock::now();
  const EmTally tally = projector_.planned_em_step(prepared.plan.get(), view, image, back);
  // The step returns when its sums have come back from the GPU.
  if (!on_host(memory_)) context.span(track_, "em_step", began, std::chrono::steady_clock::now());
  figures_.projecting_s += detail::seconds_since(began);
  figures_.data += tally.used;
  return {tally, prepared.plan != nullptr};
}

// Terms of prepared batches are looked up once for as long as they stay the same.
template <class Data>
ViewOf<Data> Share<Data>::view_of(const Data& batch, Prepared& prepared, const Additive<Data>* additive) {
  const Data& data = prepared.is_copy ? prepared.copy : batch;
  ViewOf<Data> view = views_.view(data, room_);
  if (additive && additive->terms) {
    if (prepared.terms != additive->terms) {
      const auto began = std::chrono::steady_clock::now();
      additive->terms->write(data, prepared.additive.data());
      prepared.terms = additive->terms;
      figures_.looking_up_terms_s += detail::seconds_since(began);
    }
    view.additive = prepared.additive.data();
  }
  return prepared.is_copy ? view : range_in(view, prepared.range);
}

template <class Data>
typename Share<Data>::Prepared* Share<Data>::kept_of(const std::shared_ptr<const Data>& batch, Range range) {
  const auto known = kept_.find(batch.get());
  // Another batch may lie where one lay that has gone; and a batch may come in another subset.
  const bool is_same = known != kept_.end() && known->second.batch.lock() == batch && known->second.range == range;
  return is_same ? &known->second : nullptr;
}

// On a GPU, prepared batches are kept for later iterations while there is room. Data lie on the host if the GPU had no
// room for them: they are copied for each pass, and their plan is dropped after it. A share of them may find room.
template <class Data>
typename Share<Data>::Prepared& Share<Data>::prepare(const std::shared_ptr<const Data>& batch, Range range,
                                                     bool comes_again, bool has_terms, Context& context) {
  if (Prepared* const known = kept_of(batch, range)) return *known;
  std::erase_if(kept_, [](const auto& each) { return each.second.batch.expired(); });  // they are not sent again
  if (!on_host(memory_) && unkept_.is_copy) synchronize(nullptr);  // copies are freed beside what reads them
  unkept_ = {};
  make_room();
  Prepared prepared{.batch = batch, .range = range};
  copy_range(batch, prepared);
  if (has_terms) prepared.additive = Buffer<float>(memory_, prepared.is_copy ? prepared.copy.count : batch->count);
  if (is_alone_ && !on_host(memory_) && on_host(batch->memory())) return unkept_ = std::move(prepared);
  const auto began = std::chrono::steady_clock::now();
  const ViewOf<Data> view =
      prepared.is_copy ? views_.view(prepared.copy, room_) : range_in(views_.view(*batch, room_), range);
  prepared.plan = plan_of(view);
  if (!on_host(memory_)) context.span(track_, "plan", began, std::chrono::steady_clock::now());
  const double planning_s = detail::seconds_since(began);
  figures_.planning_s += planning_s;
  largest_bytes_ = std::max(largest_bytes_, prepared.bytes());
  if (!comes_again || on_host(memory_) || free_device_bytes() < room_to_leave()) return unkept_ = std::move(prepared);
  figures_.kept_planning_s += planning_s;
  prepared.number = ever_kept_++;
  return kept_.insert_or_assign(batch.get(), std::move(prepared)).first->second;
}

// What is kept may stand in the way: deterministic sums need a plan.
template <class Data>
std::unique_ptr<ProjectionPlan> Share<Data>::plan_of(const ViewOf<Data>& view) {
  while (true) try {
      return projector_.plan(view);
    } catch (const OutOfMemory&) {
      if (kept_.empty()) throw;
      drop_newest();
    }
}

// Others take memory too, above all for the data of a scan that goes on.
template <class Data>
void Share<Data>::make_room() {
  if (on_host(memory_)) return;
  while (!kept_.empty() && free_device_bytes() < room_to_leave()) drop_newest();
}

// Passes meet all batches in turn: to drop the one that is met next would be to drop each before it is met.
template <class Data>
void Share<Data>::drop_newest() {
  synchronize(nullptr);  // nothing reads it any more
  kept_.erase(std::max_element(kept_.begin(), kept_.end(),
                               [](const auto& a, const auto& b) { return a.second.number < b.second.number; }));
}

// Brings the range to the projector's memory, unless the batch lies there already.
template <class Data>
void Share<Data>::copy_range(const std::shared_ptr<const Data>& batch, Prepared& prepared) {
  const bool is_there = on_host(memory_) ? on_host(batch->memory()) : !on_host(batch->memory()) && has_batches_;
  if (is_there) return;
  prepared.is_copy = true;
  if (!on_host(memory_) && on_host(batch->memory())) {
    prepared.copy = feed_.take(batch, prepared.range);
    figures_.copied_bytes = feed_.copied_bytes();
    figures_.copying_s = feed_.copy_seconds();
    return;
  }
  prepared.copy = copy_of(*batch, prepared.range, memory_);
  synchronize(nullptr);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
