// What the passes of a projector need on a device: see workspace.cuh.
#include <algorithm>

#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/math/log_sum.hpp"
#include "kernels/project/event_ratio.hpp"
#include "kernels/project/tiled/workspace.cuh"

namespace tofstream::tiled {

namespace {

constexpr int event_threads = 256;

/// The sum over the block, in its first thread.
template <class T>
__device__ T block_sum(T value) {
  using Reduce = cub::BlockReduce<T, event_threads>;
  __shared__ typename Reduce::TempStorage scratch;
  const T sum = Reduce(scratch).Sum(value);
  __syncthreads();  // the next sum uses the same scratch
  return sum;
}

__device__ bool is_first_thread() {
  return blockIdx.x == 0 && threadIdx.x == 0;
}

__device__ RankedEvent read(const RankedEvent* ranked, std::int64_t rank) {
  const uint4 whole = __ldg(reinterpret_cast<const uint4*>(ranked) + rank);
  return {whole.x, whole.y, whole.z, __uint_as_float(whole.w)};
}

/// Calls use(event) for the thread's share of a plan's events, while the next one is on its way.
template <class Use>
__device__ void for_each_event(const VisitView& plan, Use&& use) {
  const std::int64_t step = std::int64_t{gridDim.x} * event_threads;
  std::int64_t i = std::int64_t{blockIdx.x} * event_threads + threadIdx.x;
  RankedEvent coming = i < plan.events ? read(plan.ranked, i) : RankedEvent{};
  for (; i < plan.events; i += step) {
    const RankedEvent of = coming;
    if (i + step < plan.events) coming = read(plan.ranked, i + step);
    use(of);
  }
}

__device__ float sum_of_shares(const RankedEvent& of, const float* shares) {
  float sum = 0;
  for (std::uint32_t s = 0; s < of.visits; ++s) sum += shares[of.first_slot + s];
  return sum;
}

template <class T>
__device__ void give_slots(const RankedEvent& of, const T& given, T* slots) {
  for (std::uint32_t s = 0; s < of.visits; ++s) slots[of.first_slot + s] = given;
}

__global__ void __launch_bounds__(event_threads)
    ratio_kernel(VisitView plan, float unit, EventTerms terms, float* shares, PassState* state) {
  LogSum logarithms;
  unsigned long long used = 0, skipped = 0;
  if (is_first_thread()) state->next_forward = 0;
  for_each_event(plan, [&](const RankedEvent& of) {
    if (of.event == no_event) return give_slots(of, 0.0f, shares);
    const float scale = unit * of.scale;
    const float expectation = scale * sum_of_shares(of, shares) + (terms.additive ? terms.additive[of.event] : 0.0f);
    const EventRatio event = EventRatio::of(terms.counts, of.event, expectation, scale);
    (event.is_used ? used : skipped) += static_cast<unsigned long long>(event.y);
    if (event.is_used && event.y > 0) logarithms.add(expectation, event.y);
    give_slots(of, event.ratio, shares);
  });
  used = block_sum(used);
  skipped = block_sum(skipped);
  const double log_sum = block_sum(logarithms.value());
  if (threadIdx.x > 0) return;
  atomicAdd(&state->tally.used, used);
  if (skipped > 0) atomicAdd(&state->tally.skipped, skipped);
  atomicAdd(&state->tally.log_sum, log_sum);
}

__global__ void __launch_bounds__(event_threads)
    expectation_kernel(VisitView plan, float unit, const float* shares, float* expectation, PassState* state) {
  if (is_first_thread()) state->next_forward = 0;
  for_each_event(plan, [&](const RankedEvent& of) {
    if (of.event != no_event) expectation[of.event] = unit * of.scale * sum_of_shares(of, shares);
  });
}

/// by_slot[slot] = the event of the slot's visit.
__global__ void __launch_bounds__(event_threads) spread_events(VisitView plan, VisitEvent* by_slot) {
  for_each_event(plan, [&](const RankedEvent& of) { give_slots(of, {of.event, of.scale}, by_slot); });
}

/// listed[visit] = its event.
__global__ void __launch_bounds__(elementwise::threads)
    list_events(VisitView plan, std::int64_t visits, const VisitEvent* __restrict__ by_slot, VisitEvent* listed) {
  const std::int64_t visit = elementwise::element();
  if (visit < visits) listed[visit] = by_slot[plan.visits[visit].slot];
}

/// accumulator += sums, which become zero. `range`: of tiles, whose shift it decides; or null, for `shift`.
__global__ void __launch_bounds__(elementwise::threads)
    add_sums(std::int64_t voxels, long long* sums, float* accumulator, const ScaleRange* range, int shift) {
  const double unscale = exp2(static_cast<double>(-(range ? BackTarget::common_shift(*range) : shift)));
  const std::int64_t voxel = elementwise::element();
  if (voxel >= voxels || sums[voxel] == 0) return;
  accumulator[voxel] += static_cast<float>(static_cast<double>(sums[voxel]) * unscale);
  sums[voxel] = 0;
}

}  // namespace

Workspace::Workspace(bool deterministic)
    : deterministic_(deterministic),
      state_(Buffer<PassState>::zeros(Memory::device, 1)),
      state_read_(Memory::pinned, 1) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "read what the GPU has");
    return value;
  };
  constexpr int other_bytes = 1024;  // what kernels hold besides a tile
  space_.blocks = attribute(cudaDevAttrMultiProcessorCount);
  space_.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - other_bytes;
  synchronize(nullptr);  // the state may next be used on any stream
}

void Workspace::clear_tally(Stream stream) {
  check_cuda(cudaMemsetAsync(&state_.data()->tally, 0, sizeof(DeviceTally), stream), "clear a pass's tally");
}

void Workspace::prepare(const Visits& made, Stream stream) {
  if (ratios_.size() < made.visits.size()) {
    shares_ = {};  // freed before the larger ones are allocated
    ratios_ = {};
    shares_ = Buffer<float>(Memory::device, made.visits.size(), stream);
    ratios_ = Buffer<float>(Memory::device, made.visits.size(), stream);
  }
  if (deterministic_) fit_sums(made.tiling.voxels(), stream);
  scales_.fit(made.tiling.count(), stream);
}

void Workspace::fit_sums(std::int64_t voxels, Stream stream) {
  if (sums_.size() != voxels) sums_ = Buffer<long long>::zeros(Memory::device, voxels, stream);
}

void Workspace::take_sums(float* accumulator, int shift, Stream stream) {
  add_sums<<<elementwise::blocks(sums_.size()), elementwise::threads, 0, stream>>>(sums_.size(), sums_.data(),
                                                                                   accumulator, nullptr, shift);
  check_launch("add sums to the image");
}

void Workspace::take_sums_of_tiles(float* accumulator, Stream stream) {
  add_sums<<<elementwise::blocks(sums_.size()), elementwise::threads, 0, stream>>>(
      sums_.size(), sums_.data(), accumulator, scales_.range.data(), 0);
  check_launch("add sums to the image");
}

unsigned Workspace::blocks_for(const VisitView& plan) const {
  const std::int64_t needed = (plan.events + event_threads - 1) / event_threads;
  return static_cast<unsigned>(std::min<std::int64_t>(needed, std::int64_t{space_.blocks} * 8));
}

void Workspace::take_ratios(const VisitView& plan, float unit, const EventTerms& terms, Stream stream) {
  ratio_kernel<<<blocks_for(plan), event_threads, 0, stream>>>(plan, unit, terms, shares_.data(), state_.data());
  check_launch("take the events' ratios");
}

void Workspace::take_expectations(const VisitView& plan, float unit, float* expectation, Stream stream) {
  expectation_kernel<<<blocks_for(plan), event_threads, 0, stream>>>(plan, unit, shares_.data(), expectation,
                                                                     state_.data());
  check_launch("take the events' expectations");
}

Buffer<VisitEvent> Workspace::events_of_visits(const Visits& made, Stream stream) const {
  const std::int64_t visits = made.visits.size();
  const VisitView view = made.view();
  Buffer<VisitEvent> by_slot(Memory::device, visits, stream), listed(Memory::device, visits, stream);
  spread_events<<<blocks_for(view), event_threads, 0, stream>>>(view, by_slot.data());
  check_launch("give slots their events");
  list_events<<<elementwise::blocks(visits), elementwise::threads, 0, stream>>>(view, visits, by_slot.data(),
                                                                                listed.data());
  check_launch("list the events of visits");
  return listed;
}

EmTally Workspace::tally(Stream stream) {
  if (first_) return {};  // there was no step
  tofstream::detail::copy(state_read_.data(), Memory::pinned, state_.data(), Memory::device, sizeof(PassState), stream);
  synchronize(stream);
  return state_read_[0].tally.on_host();
}

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
