// The strip projector as Bialas et al. 2015 have it on a GPU (section 4.2): one thread an event, or one warp an event,
// with the image and the sums in global memory. One warp an event also serves forward and back projection alone, and
// images that do not fit shared memory.
#include "kernels/cuda/check.hpp"
#include "kernels/memory/device.hpp"
#include "kernels/strip/strip_cuda.cuh"
#include "kernels/strip/strip_device.cuh"

namespace tofstream::strip {

namespace {

// ---- one thread an event ----

constexpr int event_threads = 128;

/// Calls visit(pixel, P) for the pixels of the event's ellipse.
template <StripForm form, class Visit>
__device__ void walk(const Model& model, const Terms& event, Visit&& visit) {
  const StripBox box = strip_box(event, model.grid);
  for (int row = box.y_first; row <= box.y_last; ++row)
    for (int column = box.z_first; column <= box.z_last; ++column) {
      const float p = model.density<form>(event, row, column);
      if (p > 0) visit(model.grid.index(0, row, column), p);
    }
}

template <StripForm form>
__global__ void __launch_bounds__(event_threads)
    em_of_threads(Model model, EventView events, const float* __restrict__ image, float* sums, DeviceTally* tally) {
  const std::int64_t i = std::int64_t{blockIdx.x} * event_threads + threadIdx.x;
  EventRatio of_event;
  float expectation = 0;
  if (i < events.count) {
    const Terms event = model.terms<form>(events, i);
    expectation = events.additive ? events.additive[i] : 0.0f;
    walk<form>(model, event, [&](std::int64_t pixel, float p) { expectation += p * image[pixel]; });
    of_event = EventRatio::of(nullptr, i, expectation);
    if (of_event.is_used)
      walk<form>(model, event, [&](std::int64_t pixel, float p) { atomicAdd(sums + pixel, p * of_event.ratio); });
  }
  add_tally(of_event, expectation, tally);
}

// ---- one warp an event ----

constexpr int warps = 8, warp_threads = 32 * warps;

__device__ std::int64_t first_event() {
  return std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
}
__device__ std::int64_t events_a_turn() {
  return std::int64_t{gridDim.x} * warps;
}

template <StripForm form>
__device__ void add_event(const Model& model, const Terms& event, float value, float* image) {
  WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
    if (!inside) return;
    const float p = model.density<form>(event, row, column);
    if (p > 0) atomicAdd(image + model.grid.index(0, row, column), p * value);
  });
}

template <StripForm form>
__global__ void __launch_bounds__(warp_threads)
    forward_of_warps(Model model, EventView events, const float* __restrict__ image, float* expectation) {
  for (std::int64_t i = first_event(); i < events.count; i += events_a_turn()) {
    const float sum = WarpSum::of<form>(model, model.terms<form>(events, i), image).sum;
    if (threadIdx.x % 32 == 0) expectation[i] = sum;
  }
}

template <StripForm form>
__global__ void __launch_bounds__(warp_threads)
    back_of_warps(Model model, EventView events, const float* __restrict__ values, float* image) {
  for (std::int64_t i = first_event(); i < events.count; i += events_a_turn()) {
    const float value = values ? values[i] : 1.0f;
    if (value != 0) add_event<form>(model, model.terms<form>(events, i), value, image);
  }
}

/// What a warp keeps of an event between its two passes: the pixels of the ellipse, and their P.
struct KeptPixels {
  static constexpr int most = 512;
  int pixel[most];
  float p[most];
};

/// Expectation of an event whose box has few enough pixels, of which those in the ellipse are kept; `count` of them.
template <StripForm form>
__device__ float keep_event(const Model& model, const Terms& event, const WarpBox& box, const float* __restrict__ image,
                            KeptPixels& kept, int& count) {
  float sum = 0;
  count = 0;
  box.for_each([&](int row, int column, bool inside) {
    const float p = inside ? model.density<form>(event, row, column) : 0.0f;
    const unsigned with = __ballot_sync(all_lanes, p > 0);
    if (p > 0) {
      const auto pixel = static_cast<int>(model.grid.index(0, row, column));
      const int place = count + __popc(with & ((1u << threadIdx.x % 32) - 1));
      kept.pixel[place] = pixel;
      kept.p[place] = p;
      sum += p * image[pixel];
    }
    count += __popc(with);
  });
  __syncwarp();
  return over_warp(sum);
}

template <StripForm form>
__global__ void __launch_bounds__(warp_threads)
    em_of_warps(Model model, EventView events, const float* __restrict__ image, float* sums, DeviceTally* tally) {
  __shared__ KeptPixels of_warp[warps];
  KeptPixels& kept = of_warp[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  LocalTally seen;
  for (std::int64_t i = first_event(); i < events.count; i += events_a_turn()) {
    const Terms event = model.terms<form>(events, i);
    const WarpBox box(event, model.grid);
    const bool keeps = box.count <= KeptPixels::most;
    int count = 0;
    float expectation =
        keeps ? keep_event<form>(model, event, box, image, kept, count) : WarpSum::of<form>(model, event, image).sum;
    if (events.additive) expectation += events.additive[i];
    const bool used = usable(expectation);
    if (used) {
      const float ratio = 1.0f / expectation;
      if (keeps) {
        for (int k = lane; k < count; k += 32) atomicAdd(sums + kept.pixel[k], kept.p[k] * ratio);
      } else {
        add_event<form>(model, event, ratio, sums);
      }
    }
    __syncwarp();
    if (lane == 0) seen.add(expectation, used);
  }
  seen.give(tally);
}

unsigned blocks_of_warps(std::int64_t events) {
  constexpr int blocks_a_multiprocessor = 8;
  return static_cast<unsigned>(
      std::min<std::int64_t>((events + warps - 1) / warps, blocks_a_multiprocessor * multiprocessors()));
}

}  // namespace

void queue_forward(StripForm form, const Model& model, const EventView& events, const float* image, float* expectation,
                   Stream stream) {
  if (events.count == 0) return;
  with_form(form, [&](auto f) {
    forward_of_warps<f.value>
        <<<blocks_of_warps(events.count), warp_threads, 0, stream>>>(model, events, image, expectation);
  });
  check_launch("launch the strips' forward projection");
}

void queue_back(StripForm form, const Model& model, const EventView& events, const float* values, float* image,
                Stream stream) {
  if (events.count == 0) return;
  with_form(form, [&](auto f) {
    back_of_warps<f.value><<<blocks_of_warps(events.count), warp_threads, 0, stream>>>(model, events, values, image);
  });
  check_launch("launch the strips' back projection");
}

void queue_em_of_threads(StripForm form, const Model& model, const EventView& events, const float* image, float* sums,
                         DeviceTally* tally, Stream stream) {
  constexpr std::int64_t most = std::int64_t{event_threads} << 30;  // events of a launch
  for (std::int64_t begin = 0; begin < events.count; begin += most) {
    const EventView part = events.slice(begin, std::min(most, events.count - begin));
    const auto blocks = static_cast<unsigned>((part.count + event_threads - 1) / event_threads);
    with_form(form, [&](auto f) {
      em_of_threads<f.value><<<blocks, event_threads, 0, stream>>>(model, part, image, sums, tally);
    });
    check_launch("launch the strips' EM step, a thread an event");
  }
}

void queue_em_of_warps(StripForm form, const Model& model, const EventView& events, const float* image, float* sums,
                       DeviceTally* tally, Stream stream) {
  if (events.count == 0) return;
  with_form(form, [&](auto f) {
    em_of_warps<f.value><<<blocks_of_warps(events.count), warp_threads, 0, stream>>>(model, events, image, sums, tally);
  });
  check_launch("launch the strips' EM step, a warp an event");
}

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
