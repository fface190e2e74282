// The projector of list-mode events on CUDA, for every family that has tiles: the EM step and the projections of a batch
// by tiles (workspace.cuh), a stretch at a time; and by the direct path, each event on its own, where there are too few
// events, where tiles cannot serve, and for the few events of a stretch that its visits leave out.
//
// A Family brings what differs:
//
//   static constexpr std::int64_t fewest_events;
//       of a batch that repay the loading of tiles
//   const Grid& grid() const;
//   float reach_mm() const;
//   bool has_visits(events) const;
//       whether visits can stand for such events at all; their ToF bins have one width
//   std::int64_t events_at_a_time(int tile_words) const;
//       the most events of a stretch
//   std::optional<Visits> visits(events, Workspace&, stream);
//       those of a stretch; nothing where visits cannot stand for too many of its lines
//   void with_footprint(events, stream, step);
//       calls step with the footprint (workspace.cuh) that suits the events
//   void forward(events, image, expectation, stream);
//   void back(events, values, ImageTarget | BandTarget, stream);
//   void em_step(events, image, accumulator, DeviceTally*, stream);
//       the direct path, queued on the stream; em_step adds to the tally
//
// Who makes a TiledProjector must see the definition of with_footprint: the kernels of its footprints are compiled
// there.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/project/event_ratio_cuda.cuh"
#include "kernels/project/tiled/cut_events.hpp"
#include "kernels/project/tiled/stretches.hpp"
#include "kernels/project/tiled/visit_plan.hpp"
#include "kernels/project/tiled/workspace.cuh"

namespace tofstream::tiled {

template <class Family>
class TiledProjector final : public ListModeProjector {
 public:
  /// `deterministic`: EM steps and back projections give the same sums bit for bit. Which path takes an event then
  /// follows from the events alone, so a GPU without room for their visits is an OutOfMemory.
  /// `family`: what the family's constructor takes.
  template <class... Arguments>
  TiledProjector(CudaPath path, bool deterministic, const Arguments&... family)
      : path_(path),
        deterministic_(deterministic),
        family_(family...),
        workspace_(deterministic),
        tally_(Memory::device, 1) {
    synchronize(nullptr);  // what is there by now may next be used on any stream
  }

  const Grid& grid() const override { return family_.grid(); }
  Backend backend() const override { return Backend::cuda; }
  float reach_mm() const override { return family_.reach_mm(); }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    family_.forward(events, image, expectation, stream);
  }

  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    if (!takes(events) || !pays_for_one_use(path_, deterministic_, events.count))
      return back_directly(events, values, image, stream);
    const auto by_tiles = [&](const Visits& made) { add_back(made, events, values, image, stream); };
    const Stretches stretches = stretches_of(events);
    for (std::int64_t k = 0; k < stretches.count(); ++k)
      if (!with_visits(stretches, k, stream, by_tiles))
        back_directly(stretches[k], values ? values + stretches.first_event(k) : nullptr, image, stream);
  }

  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    return planned_em_step(nullptr, events, image, accumulator, stream);
  }

  /// Null where the direct path is to take the events, or the GPU has no room for their visits.
  std::unique_ptr<ProjectionPlan> plan(const EventView& events, Stream stream) override {
    if (!takes(events)) return nullptr;
    auto plan = std::make_unique<VisitPlan>();
    const auto keep = [&](Visits& made) { plan->stretches.push_back(std::move(made)); };
    const Stretches stretches = stretches_of(events);
    for (std::int64_t k = 0; k < stretches.count(); ++k)
      if (!with_visits(stretches, k, stream, keep)) return nullptr;
    return plan;
  }

  EmTally planned_em_step(const ProjectionPlan* plan, const EventView& events, const float* image, float* accumulator,
                          Stream stream) override {
    const VisitPlan* known = known_plan(plan);
    if (!known && !takes(events)) return step_directly(events, image, accumulator, stream);
    EmTally tally;
    const auto by_tiles = [&](const Visits& made) { tally += add_step(made, events, image, accumulator, stream); };
    workspace_.begin();
    if (known) {
      for (const Visits& made : known->stretches) by_tiles(made);
    } else {
      const Stretches stretches = stretches_of(events);
      for (std::int64_t k = 0; k < stretches.count(); ++k)
        if (!with_visits(stretches, k, stream, by_tiles))
          tally += step_directly(stretches[k], image, accumulator, stream);
    }
    tally += workspace_.tally(stream);
    return tally;
  }

  void planned_forward(const ProjectionPlan* plan, const EventView& events, const float* image, float* expectation,
                       Stream stream) override {
    const VisitPlan* known = known_plan(plan);
    if (!known) return forward(events, image, expectation, stream);
    for (const Visits& made : known->stretches) put_expectations(made, events, image, expectation, stream);
  }

  void planned_back(const ProjectionPlan* plan, const EventView& events, const float* values, float* image,
                    Stream stream) override {
    const VisitPlan* known = known_plan(plan);
    if (!known) return back(events, values, image, stream);
    for (const Visits& made : known->stretches) add_back(made, events, values, image, stream);
  }

 private:
  static const VisitPlan* known_plan(const ProjectionPlan* plan) { return dynamic_cast<const VisitPlan*>(plan); }

  /// Whether these events are to go by tiles: many enough, and such as visits can stand for.
  bool takes(const EventView& events) const {
    if (path_ == CudaPath::direct || events.count == 0 || !family_.has_visits(events)) return false;
    return path_ == CudaPath::tiled || deterministic_ || events.count >= Family::fewest_events;
  }

  Stretches stretches_of(const EventView& events) const {
    return {events, family_.events_at_a_time(workspace_.words())};
  }

  /// Calls use(visits) for a stretch. False where visits cannot stand for it, or, unless deterministic, the GPU has no
  /// room for them or for what `use` needs.
  template <class Use>
  bool with_visits(const Stretches& stretches, std::int64_t k, Stream stream, const Use& use) {
    try {
      std::optional<Visits> made = family_.visits(stretches[k], workspace_, stream);
      if (!made) return false;
      made->first_event = stretches.first_event(k);
      use(*made);
      return true;
    } catch (const OutOfMemory&) {
      if (deterministic_)
        throw OutOfMemory(
            "deterministic: the GPU has no room for a plan of the events: use smaller subsets, or backend cpu");
      return false;
    }
  }

  /// The EM step of a stretch of the batch `events`, and the tally of those events that its visits leave out. Nothing
  /// is added to the accumulator before all memory is there.
  EmTally add_step(const Visits& made, const EventView& events, const float* image, float* accumulator, Stream stream) {
    const CutEvents cut(made, events, stream);
    const EventTerms terms = EventTerms::from(events, made.first_event);
    family_.with_footprint(events, stream, [&](const auto& footprint) {
      workspace_.em_step(made, footprint, terms, image, accumulator, stream);
    });
    return cut.empty() ? EmTally{} : step_directly(cut.view(), image, accumulator, stream);
  }

  /// image += A^T y of a stretch, likewise.
  void add_back(const Visits& made, const EventView& events, const float* values, float* image, Stream stream) {
    const CutEvents cut(made, events, stream);
    const Buffer<float> cut_values = cut.of(values);
    family_.with_footprint(events, stream, [&](const auto& footprint) {
      workspace_.back(made, footprint, values ? values + made.first_event : nullptr, image, stream);
    });
    if (!cut.empty()) back_directly(cut.view(), values ? cut_values.data() : nullptr, image, stream);
  }

  /// expectation = A x of a stretch.
  void put_expectations(const Visits& made, const EventView& events, const float* image, float* expectation,
                        Stream stream) {
    family_.with_footprint(events, stream, [&](const auto& footprint) {
      workspace_.forward(made, footprint, image, expectation + made.first_event, stream);
    });
    const CutEvents cut(made, events, stream);
    if (cut.empty()) return;
    Buffer<float> found(Memory::device, cut.view().count, stream);
    family_.forward(cut.view(), image, found.data(), stream);
    cut.put(found, expectation);
  }

  void back_directly(const EventView& events, const float* values, float* image, Stream stream) {
    if (!deterministic_) return family_.back(events, values, ImageTarget{image}, stream);
    const Stretches parts(events, std::int64_t{1} << BandTarget::room_log2);  // an event adds to a voxel once
    for (std::int64_t k = 0; k < parts.count(); ++k) {
      const float* const own = values ? values + parts.first_event(k) : nullptr;
      workspace_.add_in_bands(image, grid().voxels(), stream,
                              [&](const BandTarget& target) { family_.back(parts[k], own, target, stream); });
    }
  }

  EmTally step_directly(const EventView& events, const float* image, float* accumulator, Stream stream) {
    tally_.clear(stream);
    if (deterministic_) {
      Buffer<float> ratios(Memory::device, events.count, stream);
      family_.forward(events, image, ratios.data(), stream);
      make_ratios(events, ratios.data(), tally_.data(), stream);
      back_directly(events, ratios.data(), accumulator, stream);
    } else {
      family_.em_step(events, image, accumulator, tally_.data(), stream);
    }
    return tally_.to_vector(stream).front().on_host();
  }

  CudaPath path_;
  bool deterministic_;
  Family family_;
  Workspace workspace_;
  Buffer<DeviceTally> tally_;  // of the direct path
};

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
