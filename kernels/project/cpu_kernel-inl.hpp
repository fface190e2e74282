// A CpuKernel over a family's tracer: the loops over events, once for all families and compiled for
// each instruction set.
#if defined(TOFSTREAM_PROJECT_CPU_KERNEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_PROJECT_CPU_KERNEL_INL
#undef TOFSTREAM_PROJECT_CPU_KERNEL_INL
#else
#define TOFSTREAM_PROJECT_CPU_KERNEL_INL
#endif

#include "kernels/math/lanes-inl.hpp"
#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/expectation.hpp"

TOFSTREAM_LANES_BEGIN

/// Tracer is what one thread needs for one range of events:
///   Tracer(const Setup&, const EventView&)
///   void trace(std::int64_t i)                    finds event i's voxels and weights
///   float gather(const float* image)              sum of weight x voxel of the traced event
///   void scatter(float value, float* image)       voxel += value x weight of the traced event
template <class Tracer, class Setup>
class TracingKernel final : public CpuKernel {
 public:
  explicit TracingKernel(const Setup& setup) : setup_(setup) {}

  void forward(const EventView& events, const float* image, float* expectation) const override {
    Tracer tracer(setup_, events);
    for (std::int64_t i = 0; i < events.count; ++i) {
      tracer.trace(i);
      expectation[i] = tracer.gather(image);
    }
  }
  void back(const EventView& events, const float* values, float* image) const override {
    Tracer tracer(setup_, events);
    for (std::int64_t i = 0; i < events.count; ++i) {
      tracer.trace(i);
      tracer.scatter(values ? values[i] : 1.0f, image);
    }
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator) const override {
    Tracer tracer(setup_, events);
    EmTally tally;
    LogSum logarithms;
    for (std::int64_t i = 0; i < events.count; ++i) {
      tracer.trace(i);
      float expectation = tracer.gather(image);
      if (events.additive) expectation += events.additive[i];
      if (!usable(expectation)) {
        ++tally.skipped;
        continue;
      }
      ++tally.used;
      logarithms.add(expectation);
      tracer.scatter(1.0f / expectation, accumulator);
    }
    tally.log_sum = logarithms.value();
    return tally;
  }

 private:
  Setup setup_;
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_PROJECT_CPU_KERNEL_INL
