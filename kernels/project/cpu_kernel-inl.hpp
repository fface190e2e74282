// A CpuKernel over a family's tracer: the loops over events, once for all families and compiled for
// each instruction set.
#if defined(TOFSTREAM_PROJECT_CPU_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_PROJECT_CPU_KERNEL_INL
#undef TOFSTREAM_PROJECT_CPU_KERNEL_INL
#else
#define TOFSTREAM_PROJECT_CPU_KERNEL_INL
#endif

#include <algorithm>
#include <optional>

#include "kernels/math/lanes-inl.hpp"
#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/event_ratio.hpp"
#include "kernels/project/visit_order.hpp"

TOFSTREAM_LANES_BEGIN

/// Tracer is what one thread needs for one range of events:
///   Tracer(const Setup&, const EventView&)
///   void trace(std::int64_t i)                    finds event i's voxels and weights
///   float gather(const float* image)              sum of weight x voxel of the traced event
///   void scatter(float value, float* image)       voxel += value x weight of the traced event
template <class Tracer, class Setup>
class TracingKernel final : public CpuKernel {
 public:
  /// `ordered_for`: the grid of images for which events are visited in VisitOrder's order, which pays where an event
  /// meets many voxels; none: as they come.
  explicit TracingKernel(const Setup& setup, std::optional<Grid> ordered_for = {})
      : setup_(setup), ordered_for_(ordered_for) {}

  void forward(const EventView& events, const float* image, float* expectation) const override {
    Tracer tracer(setup_, events);
    for_each_event(events, [&](std::int64_t i) HWY_ATTR {
      tracer.trace(i);
      expectation[i] = tracer.gather(image);
    });
  }
  void back(const EventView& events, const float* values, float* image) const override {
    Tracer tracer(setup_, events);
    for_each_event(events, [&](std::int64_t i) HWY_ATTR {
      tracer.trace(i);
      tracer.scatter(values ? values[i] : 1.0f, image);
    });
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator) const override {
    Tracer tracer(setup_, events);
    EventRatios ratios(events);
    for_each_event(events, [&](std::int64_t i) HWY_ATTR {
      if (!ratios.counts(i)) return;
      tracer.trace(i);
      if (const float ratio = ratios.of(i, tracer.gather(image)); ratio > 0) tracer.scatter(ratio, accumulator);
    });
    return ratios.tally();
  }

 private:
  template <class Visit>
  HWY_INLINE void for_each_event(const EventView& events, Visit&& visit) const {
    if (!ordered_for_ || comes_in_order(events)) {
      for (std::int64_t i = 0; i < events.count; ++i) visit(i);
      return;
    }
    VisitOrder order(*ordered_for_);
    for (std::int64_t begin = 0; begin < events.count; begin += VisitOrder::most)
      for (const std::uint32_t i : order.of(events.slice(begin, std::min(VisitOrder::most, events.count - begin))))
        visit(begin + i);
  }

  Setup setup_;
  std::optional<Grid> ordered_for_;
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_PROJECT_CPU_KERNEL_INL
// SPDX-License-Identifier: Apache-2.0
