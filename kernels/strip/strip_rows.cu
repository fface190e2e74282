// The strip projector's EM step with the image and its sums in shared memory (share/doc/gpu.md). A warp takes an event,
// a lane one row of its ellipse, or two of a tall one: the row's polynomials are computed once, its few pixels stay in
// registers between the two passes, and rows begin in different banks of shared memory. Sums are whole numbers: see
// fixed_sums.cuh.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/memory/device.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip_cuda.cuh"
#include "kernels/strip/warp_rows.cuh"

namespace tofstream::strip {

namespace {

// As kernels are compiled, the fastest first. The paper's strips and field of view: pixels from 3.9 mm on, the same
// with a sigma_z that rises, from 2.5 mm, from 1.93 mm.
constexpr RowsShape shapes[] = {{5, 1}, {8, 1}, {8, 2}, {12, 2}};
constexpr int samples = 2048;

std::size_t shared_bytes(StripForm form, RowsShape shape, const RowsLayout& layout) {
  const std::size_t images = shape.has_angles(form) ? 4 : 2;
  return images * static_cast<std::size_t>(layout.words()) * sizeof(float) +
         static_cast<std::size_t>(shape.warps() * shape.group()) * sizeof(StagedEvent);
}

/// Counts the exponents of the largest addends of events that are spread over all.
template <StripForm form>
__global__ void sample_addends(Model model, EventView events, const float* __restrict__ image, unsigned* histogram) {
  const std::int64_t number = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const std::int64_t taken = min(std::int64_t{samples}, events.count);
  if (number >= taken) return;
  const std::int64_t i = number * events.count / taken;
  const WarpSum met = WarpSum::of<form>(model, model.terms<form>(events, i), image);
  const float expectation = met.sum + (events.additive ? events.additive[i] : 0.0f);
  const unsigned most = __reduce_max_sync(all_lanes, __float_as_uint(met.largest));
  const float addend = __uint_as_float(most) / expectation;
  if (threadIdx.x % 32 == 0 && usable(expectation) && usable(addend)) atomicAdd(histogram + exponent_of(addend), 1u);
}

/// What the warps of a block share out: groups of events.
__shared__ int next_group;

template <StripForm form, int reach, int windows>
__global__ void __launch_bounds__(RowsShape(reach, windows).threads(), 1)
    em_of_rows(Model model, EventView events, RowsLayout layout, const float* __restrict__ image,
               const float* __restrict__ ends, const unsigned* __restrict__ histogram, FixedSums fixed,
               DeviceTally* tally) {
  constexpr RowsShape shape(reach, windows);
  constexpr int threads = shape.threads(), group_size = shape.group();
  extern __shared__ float4 memory[];
  StagedEvent* const all_staged = reinterpret_cast<StagedEvent*>(memory);
  StagedEvent* const staged = all_staged + threadIdx.x / 32 * group_size;
  float* const rho = reinterpret_cast<float*>(all_staged + shape.warps() * group_size);
  unsigned* const sums = reinterpret_cast<unsigned*>(rho + layout.words());
  float* const shared_low = rho + 2 * layout.words();
  float* const shared_high = rho + 3 * layout.words();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int shift = shift_of(histogram);
  if (threadIdx.x == 0) next_group = 0;

  for (int i = static_cast<int>(threadIdx.x); i < layout.words(); i += threads) {
    rho[i] = 0;
    sums[i] = 0;
    if constexpr (shape.has_angles(form)) shared_low[i] = shared_high[i] = 0;
  }
  __syncthreads();
  for (int pixel = static_cast<int>(threadIdx.x); pixel < fixed.pixels; pixel += threads) {
    const int at = layout.word(pixel);
    rho[at] = visible<form>(model, pixel) ? image[pixel] : 0.0f;
    if constexpr (shape.has_angles(form)) {
      shared_low[at] = model.angles[pixel].low * half_log2e;
      shared_high[at] = model.angles[pixel].high * half_log2e;
    }
  }
  __syncthreads();

  const auto give_sums = [&] {
    // Each block begins at another pixel, since otherwise all would wait for the same few words.
    const int first = static_cast<int>(blockIdx.x * static_cast<unsigned>(fixed.pixels) / gridDim.x) / 32 * 32;
    for (int number = static_cast<int>(threadIdx.x); number < fixed.pixels; number += threads) {
      const int pixel = first + number < fixed.pixels ? first + number : first + number - fixed.pixels;
      unsigned& sum = sums[layout.word(pixel)];
      if (sum != 0 && visible<form>(model, pixel)) fixed.add(pixel, sum);
      sum = 0;
    }
    __syncthreads();
  };

  constexpr bool has_angles = shape.has_angles(form);
  const float* const low = has_angles ? shared_low : ends;
  const float* const high = has_angles ? shared_high : ends + EndsTable::make(model.grid, reach).of_one_end();
  Rows<form, shape> rows(model, events, layout, image, fixed, shift, staged, rho, sums, low, high);
  // Warps take groups of events until none is left or their sums might soon overflow; sums are then added to the global
  // ones.
  const std::int64_t all_groups = (events.count + group_size - 1) / group_size,
                     groups = (all_groups + gridDim.x - 1) / gridDim.x;
  const std::int64_t first_group = blockIdx.x * groups;
  const auto own_groups = static_cast<int>(max(std::int64_t{0}, min(groups, all_groups - first_group)));
  bool done = false;
  while (!done) {
    while (rows.has_room()) {
      int group = 0;
      if (lane == 0) group = atomicAdd(&next_group, 1);
      group = __shfl_sync(all_lanes, group, 0);
      if (group >= own_groups) break;
      rows.add_group((first_group + group) * group_size);
    }
    const bool give = __syncthreads_or(!rows.has_room());
    done = next_group >= own_groups;
    if (give || done) give_sums();
    if (give) rows.sums_given();
  }
  rows.give_tally(tally);
}

/// sums += the pass's whole numbers, which become 0 for the next one.
__global__ void take_fixed(const unsigned* __restrict__ histogram, FixedSums fixed, float* sums) {
  const int shift = shift_of(histogram);
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (pixel < fixed.pixels) sums[pixel] += static_cast<float>(ldexp(fixed.take(pixel), -shift));
}

// ---- what fits ----

/// Pixels to either side of the centre that a row of an ellipse can have, and rows of the tallest ellipse.
int needed_reach(const Grid& grid, const StripSettings& settings) {
  const StripResolution& r = settings.resolution;
  const float half = std::sqrt(0.5f * strip_cut) * r.sigma_z_mm * (1 + r.sigma_z_edge_rise);
  return static_cast<int>(std::min(half / grid.voxel_mm.z + 0.501f, 1e6f));
}
int needed_rows(const Grid& grid, const StripSettings& settings) {
  const float height = std::sqrt(strip_cut) * settings.resolution.sigma_dl_mm;
  return static_cast<int>(std::min(height / grid.voxel_mm.y + 1.002f, 1e6f));
}

std::size_t shared_limit() {
  int device = 0, limit = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "ask for the device's shared memory");
  constexpr int otherwise_used = 1024;  // by what kernels declare themselves
  return static_cast<std::size_t>(std::max(limit - otherwise_used, 0));
}

/// The first of the shapes that holds the ellipses and leaves room for the image; null for none.
const RowsShape* shape_for(const Grid& grid, const StripSettings& settings) {
  for (const RowsShape& shape : shapes)
    if (needed_reach(grid, settings) <= shape.reach && needed_rows(grid, settings) <= 32 * shape.windows &&
        shared_bytes(settings.form, shape, RowsLayout::make(grid, shape.reach)) <= shared_limit())
      return &shape;
  return nullptr;
}

/// EndsTable's angles on the device.
Buffer<float> ends_on_device(const Grid& grid, const StripSettings& settings, int reach) {
  const EndsTable table = EndsTable::make(grid, reach);
  std::vector<float> ends(2 * static_cast<std::size_t>(table.of_one_end()));
  const std::vector<Angles> angles = strip_pixel_angles(settings.geometry, grid);
  for (int column = 0; column < table.columns; ++column) {
    for (int row = 0; row < table.rows; ++row) {
      const Angles& of_pixel = angles[static_cast<std::size_t>(grid.index(0, row, column))];
      const auto at = static_cast<std::size_t>(table.place(row, column));
      ends[at] = of_pixel.low * half_log2e;
      ends[at + static_cast<std::size_t>(table.of_one_end())] = of_pixel.high * half_log2e;
    }
  }
  Buffer<float> there = Buffer<float>::from(ends).to(Memory::device);
  synchronize(nullptr);  // before the host's go
  return there;
}

/// Calls use(form, shape), both known when it is compiled.
template <class Use>
void with_kernel(StripForm form, RowsShape shape, const Use& use) {
  with_form(form, [&](auto f) {
    [&]<std::size_t... s>(std::index_sequence<s...>) {
      (void)((shape == shapes[s] && (use(f, std::integral_constant<RowsShape, shapes[s]>{}), true)) || ...);
    }
    (std::make_index_sequence<std::size(shapes)>{});
  });
}

}  // namespace

std::string EmOfRows::why_not(const Grid& grid, const StripSettings& settings) {
  if (shape_for(grid, settings)) return {};
  constexpr RowsShape most = shapes[std::size(shapes) - 1];
  const auto text = [](auto number) { return std::to_string(number); };
  const std::size_t bytes = shared_bytes(settings.form, most, RowsLayout::make(grid, most.reach));
  return "an event's ellipse has up to " + text(needed_rows(grid, settings)) + " rows of " +
         text(2 * needed_reach(grid, settings) + 1) + " pixels (the fast path takes " + text(32 * most.windows) +
         " of " + text(most.pixels()) + "), and " + text(grid.size[1]) + " x " + text(grid.size[2]) + " pixels need " +
         text(bytes / 1024) + " KB of shared memory (there are " + text(shared_limit() / 1024) + ")";
}

EmOfRows::EmOfRows(const Grid& grid, const StripSettings& settings)
    : form_(settings.form),
      shape_(*shape_for(grid, settings)),
      fixed_(Buffer<long long>::zeros(Memory::device, FixedSums::bands * grid.voxels())),
      histogram_(Memory::device, exponents) {
  if (form_ == StripForm::full && !shape_.has_angles(form_)) ends_ = ends_on_device(grid, settings, shape_.reach);
  const auto bytes = static_cast<int>(shared_bytes(form_, shape_, RowsLayout::make(grid, shape_.reach)));
  with_kernel(form_, shape_, [&](auto form, auto shape) {
    check_cuda(cudaFuncSetAttribute(em_of_rows<form.value, shape.value.reach, shape.value.windows>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "get shared memory for the strips' EM step");
  });
}

void EmOfRows::queue(const Model& model, const EventView& events, const float* image, float* sums, DeviceTally* tally,
                     Stream stream) {
  if (events.count == 0) return;
  const RowsLayout layout = RowsLayout::make(model.grid, shape_.reach);
  const FixedSums fixed{fixed_.data(), static_cast<int>(model.grid.voxels())};
  const auto threads = static_cast<unsigned>(shape_.threads());
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>((events.count + threads - 1) / threads, multiprocessors()));
  histogram_.clear(stream);
  with_kernel(form_, shape_, [&](auto form, auto shape) {
    constexpr int sample_threads = 64;
    sample_addends<form.value>
        <<<samples * 32 / sample_threads, sample_threads, 0, stream>>>(model, events, image, histogram_.data());
    check_launch("sample the strips' events");
    em_of_rows<form.value, shape.value.reach, shape.value.windows>
        <<<blocks, threads, shared_bytes(form_, shape_, layout), stream>>>(model, events, layout, image, ends_.data(),
                                                                           histogram_.data(), fixed, tally);
    check_launch("launch the strips' EM step");
  });
  constexpr int take_threads = 128;
  take_fixed<<<static_cast<unsigned>((fixed.pixels + take_threads - 1) / take_threads), take_threads, 0, stream>>>(
      histogram_.data(), fixed, sums);
  check_launch("add the strips' sums");
}

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
