// The EM step and the projections of a batch of any size by tiles: a stretch of it at a time, so that the memory for
// plans that are not kept is bounded; and the direct path where tiles cannot serve, for a stretch or beside them for a
// few of its events that visits cannot stand for. A projector brings Tiled:
//
//   std::int64_t events_at_a_time() const;
//   std::optional<Visits> visits(events, first, stream);
//       of a stretch; nothing where visits cannot stand for too many of its lines
//   void begin_step();
//   void add_step(visits, events of the batch, image, accumulator, stream);
//       queued on the stream
//   EmTally end_step(stream);
//       of all that was added since the beginning, complete on return
//   void forward(visits, events of the batch, image, expectation, stream);
//   void back(visits, events of the batch, values, image, stream);
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/project/tiled/cut_events.hpp"
#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// The error of a projector that was asked to be deterministic where tiles cannot serve.
inline std::runtime_error not_deterministic() {
  return std::runtime_error(
      "deterministic: on a GPU this needs room for a plan of the events, ToF bins of one width (Joseph), no line that "
      "ends inside the image (TOR), and cuda_path automatic or tiled: use smaller subsets, or backend cpu");
}

/// Calls visit(events of a stretch, its first event) for each stretch of a batch, while it returns true.
template <class Visit>
bool for_each_stretch(const EventView& events, std::int64_t at_a_time, Visit&& visit) {
  const std::int64_t stretches = std::max<std::int64_t>((events.count + at_a_time - 1) / at_a_time, 1);
  for (std::int64_t k = 0; k < stretches; ++k) {
    const std::int64_t begin = events.count * k / stretches, end = events.count * (k + 1) / stretches;
    if (!visit(events.slice(begin, end - begin), begin)) return false;
  }
  return true;
}

/// The plan of a batch; null where visits cannot stand for it or the GPU has no room for them.
template <class Tiled>
std::unique_ptr<ProjectionPlan> plan_stretches(Tiled& tiled, const EventView& events, Stream stream) {
  auto plan = std::make_unique<VisitPlan>();
  try {
    const bool whole =
        for_each_stretch(events, tiled.events_at_a_time(), [&](const EventView& part, std::int64_t first) {
          auto made = tiled.visits(part, first, stream);
          if (made) plan->stretches.push_back(std::move(*made));
          return made.has_value();
        });
    if (!whole) plan.reset();
  } catch (const OutOfMemory&) {
    plan.reset();
  }
  return plan;
}

/// Calls use(visits) for each stretch of a plan. False where there is none.
template <class Use>
bool for_each_planned(const ProjectionPlan* plan, Use&& use) {
  const auto* known = dynamic_cast<const VisitPlan*>(plan);
  if (!known) return false;
  for (const Visits& made : known->stretches) use(made);
  return true;
}

/// The EM step of a stretch by tiles, and of the events that they leave out by `direct`, of which it returns the tally.
/// Nothing is added to the accumulator before all memory is there.
template <class Tiled, class Direct>
EmTally add_step(Tiled& tiled, const Visits& made, const EventView& events, const float* image, float* accumulator,
                 Stream stream, Direct&& direct) {
  const CutEvents cut(made, events, stream);
  tiled.add_step(made, events, image, accumulator, stream);
  return cut.empty() ? EmTally{} : direct(cut.view());
}

/// image += A^T y of a stretch, likewise.
template <class Tiled, class Direct>
void add_back(Tiled& tiled, const Visits& made, const EventView& events, const float* values, float* image,
              Stream stream, Direct&& direct) {
  const CutEvents cut(made, events, stream);
  const Buffer<float> cut_values = cut.of(values);
  tiled.back(made, events, values, image, stream);
  if (!cut.empty()) direct(cut.view(), values ? cut_values.data() : nullptr);
}

/// The EM step of a batch, with its plan or (null) without, complete on return. `direct`, given events, is their step
/// where tiles cannot serve: for a stretch, or for some of its events.
template <class Tiled, class Direct>
EmTally em_step_by_stretches(Tiled& tiled, const ProjectionPlan* plan, const EventView& events, const float* image,
                             float* accumulator, Stream stream, Direct&& direct) {
  EmTally tally;
  const auto by_tiles = [&](const Visits& made) {
    tally += add_step(tiled, made, events, image, accumulator, stream, direct);
  };
  const auto unplanned = [&](const EventView& part, std::int64_t first) {
    bool done = false;
    try {
      if (const auto made = tiled.visits(part, first, stream)) {
        by_tiles(*made);
        done = true;
      }
    } catch (const OutOfMemory&) {
    }
    if (!done) tally += direct(part);
    return true;
  };
  tiled.begin_step();
  if (!for_each_planned(plan, by_tiles)) for_each_stretch(events, tiled.events_at_a_time(), unplanned);
  tally += tiled.end_step(stream);
  return tally;
}

/// image += A^T y of a batch; `direct`, given events and their values, is that where tiles cannot serve.
template <class Tiled, class Direct>
void back_by_stretches(Tiled& tiled, const EventView& events, const float* values, float* image, Stream stream,
                       Direct&& direct) {
  for_each_stretch(events, tiled.events_at_a_time(), [&](const EventView& part, std::int64_t first) {
    bool done = false;
    try {
      if (const auto made = tiled.visits(part, first, stream)) {
        add_back(tiled, *made, events, values, image, stream, direct);
        done = true;
      }
    } catch (const OutOfMemory&) {
    }
    if (!done) direct(part, values ? values + first : nullptr);
    return true;
  });
}

/// image += A^T y of a batch with its plan. False, and nothing done, where there is none.
template <class Tiled, class Direct>
bool back_by_plan(Tiled& tiled, const ProjectionPlan* plan, const EventView& events, const float* values, float* image,
                  Stream stream, Direct&& direct) {
  return for_each_planned(plan,
                          [&](const Visits& made) { add_back(tiled, made, events, values, image, stream, direct); });
}

/// expectation = A x of a batch with its plan; `direct`, given events and where their expectations go, is that of the
/// events that tiles leave out. False, and nothing done, where there is no plan.
template <class Tiled, class Direct>
bool forward_by_plan(Tiled& tiled, const ProjectionPlan* plan, const EventView& events, const float* image,
                     float* expectation, Stream stream, Direct&& direct) {
  return for_each_planned(plan, [&](const Visits& made) {
    tiled.forward(made, events, image, expectation, stream);
    const CutEvents cut(made, events, stream);
    if (cut.empty()) return;
    Buffer<float> found(Memory::device, cut.view().count, stream);
    direct(cut.view(), found.data());
    cut.put(found, expectation);
  });
}

}  // namespace tofstream::tiled
