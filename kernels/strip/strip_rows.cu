// The strip projector's EM step with the image and its sums in shared memory (share/doc/gpu.md). A warp takes an event,
// a lane one row of its ellipse: the row's polynomials are computed once, its few pixels stay in registers between the
// two passes, and rows begin in different banks of shared memory. Sums are whole numbers: see fixed_sums.cuh.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/strip/fixed_sums.cuh"
#include "kernels/strip/row-inl.hpp"
#include "kernels/strip/strip_cuda.cuh"

namespace tofstream::strip {

namespace {

constexpr int threads = 1024;      // of a block, one of which fills a multiprocessor
constexpr int reaches[] = {5, 8};  // pixels to either side of a row's centre, as kernels are compiled
constexpr int samples = 2048;
constexpr unsigned warps = threads / 32, block_room = 0xffffffffu;  // of a block, and what its sums can hold

/// An image in shared memory: z is fastest, with margins in which nothing is, so that no column is checked. Rows lie
/// two banks apart: neighbouring rows of an ellipse, whose centres are up to about a pixel apart, then seldom meet in
/// one.
struct RowsLayout {
  int rows, columns, margin, stride;

  static RowsLayout make(const Grid& grid, int reach) {
    const int margin = 2 * reach, width = grid.size[2] + 2 * margin;
    return {grid.size[1], grid.size[2], margin, (width + 29) / 32 * 32 + 2};
  }
  /// With what a lane without a row may read.
  TOFSTREAM_HOST_DEVICE int words() const { return rows * stride + 64; }
  /// Of a pixel, which is counted as the image has it.
  __device__ int word(int pixel) const {
    const int column = pixel / rows;
    return (pixel - column * rows) * stride + margin + column;
  }
};

std::size_t shared_bytes(StripForm form, const RowsLayout& layout) {
  const std::size_t images = form == StripForm::full ? 4 : 2;
  return images * static_cast<std::size_t>(layout.words()) * sizeof(float) + std::size_t{threads} * 80;
}

// ---- an event ----

/// The ends of the strips that an event's photons may have missed: it was measured within 6 sigma of one. An ellipse's
/// pixel moves a photon by at most 3 sigma within what is measured; the share beyond an end farther away than that is
/// nothing to some 1e-7 (sqrt(6^2 - 3^2) standard deviations of the angle).
__device__ NearEnds near_ends(const Model& model, const StripResponse<float>& r) {
  const StripPrecision<float> c = strip_precision(model.resolution, model.geometry, r);
  const auto room = [&](float other_end) {  // variance of one end's z, by C
    return 0.5f * model.geometry.length_mm - 6 * sqrtf((other_end * c.dl - c.cross * c.cross) / c.determinant());
  };
  const float up = room(c.down), down = room(c.up);
  return {r.z_up_mm > up || r.z_down_mm < -down, r.z_up_mm < -up || r.z_down_mm > down};
}

/// Whether decays at the pixel can be seen: else it has no P, whatever a row says.
template <StripForm form>
__device__ bool visible(const Model& model, int pixel) {
  if constexpr (form != StripForm::full) return true;
  return model.angles[pixel].low < model.angles[pixel].high;
}

/// The expectation of an event, by all lanes of a warp from global memory, and the largest P.
template <StripForm form>
__device__ float expectation_of(const Model& model, const EventView& events, std::int64_t i, const Terms& event,
                                const float* __restrict__ image, float& largest) {
  float sum = 0;
  largest = 0;
  WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
    const float p = inside ? model.density<form>(event, row, column) : 0.0f;
    if (p > 0) sum += p * image[model.grid.index(0, row, column)];
    largest = fmaxf(largest, p);
  });
  return over_warp(sum) + (events.additive ? events.additive[i] : 0.0f);
}

/// Adds an event that is none of the usual ones, by all lanes of a warp; its expectation.
template <StripForm form>
__device__ __noinline__ float add_exactly(const Model& model, const EventView& events, std::int64_t i,
                                          const float* __restrict__ image, int shift, FixedSums sums) {
  const Terms event = model.terms<form>(events, i);
  float largest;
  const float expectation = expectation_of<form>(model, events, i, event, image, largest);
  if (!usable(expectation)) return expectation;
  const double ratio = ldexp(1 / static_cast<double>(expectation), shift);
  WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
    const float p = inside ? model.density<form>(event, row, column) : 0.0f;
    if (p > 0) sums.add_exactly(static_cast<int>(model.grid.index(0, row, column)), static_cast<double>(p) * ratio);
  });
  return expectation;
}

/// Counts the exponents of the largest addends of events that are spread over all.
template <StripForm form>
__global__ void sample_addends(Model model, EventView events, const float* __restrict__ image, unsigned* histogram) {
  const std::int64_t number = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const std::int64_t taken = min(std::int64_t{samples}, events.count);
  if (number >= taken) return;
  const std::int64_t i = number * events.count / taken;
  float largest;
  const float expectation = expectation_of<form>(model, events, i, model.terms<form>(events, i), image, largest);
  const unsigned most = __reduce_max_sync(all_lanes, __float_as_uint(largest));
  const float addend = __uint_as_float(most) / expectation;
  if (threadIdx.x % 32 == 0 && usable(expectation) && usable(addend))
    atomicAdd(histogram + (__float_as_uint(addend) >> 23), 1u);
}

template <int offset>
__device__ inline float4 read_shared(unsigned address) {
  float4 words;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4 + %5];"
               : "=f"(words.x), "=f"(words.y), "=f"(words.z), "=f"(words.w)
               : "r"(address), "n"(offset)
               : "memory");
  return words;
}

/// An event as the lanes of a warp read it together; padded so that lanes write theirs to different banks.
struct StagedEvent {
  RowEvent rows;
  RowEventRest rest;

  /// At an address of shared memory.
  __device__ static RowEvent read_rows(unsigned address) {
    const float4 words[] = {read_shared<0>(address), read_shared<16>(address), read_shared<32>(address),
                            read_shared<48>(address)};
    return bits_of<RowEvent>(words);
  }
  __device__ static RowEventRest read_rest(unsigned address) {
    const float4 words[] = {read_shared<64>(address)};
    return bits_of<RowEventRest>(words);
  }

 private:
  template <class T, std::size_t count>
  __device__ static T bits_of(const float4 (&words)[count]) {
    static_assert(sizeof(T) == sizeof(words));
    T result;
    memcpy(&result, words, sizeof(result));
    return result;
  }
};
static_assert(sizeof(StagedEvent) == 80);

__device__ inline unsigned shared_address(const void* pointer) {
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(pointer));
  asm("" : "+r"(address));  // or it is computed anew every time
  return address;
}

/// What the warps of a block share out: groups of 32 events.
__shared__ int next_group;

/// Adds to a word of shared memory.
template <int offset>
__device__ inline void add_shared(unsigned address, int value) {
  asm volatile("red.shared.add.u32 [%0 + %1], %2;" ::"r"(address), "n"(offset), "r"(value) : "memory");
}

/// A warp's part of a pass.
template <StripForm form, int reach>
class Rows {
 public:
  __device__ Rows(const Model& model, const EventView& events, const RowsLayout& layout, const float* image,
                  const FixedSums& fixed, int shift, StagedEvent* staged, const float* rho, const unsigned* sums,
                  const float* low, const float* high)
      : model_(model),
        events_(events),
        layout_(layout),
        image_(image),
        fixed_(fixed),
        shift_(shift),
        scale_(shift),
        staged_(staged),
        staged_at_(shared_address(staged)),
        rho_(rho),
        low_(low),
        high_(high),
        sums_at_(shared_address(sums)),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  /// Whether as much more fits the 32 bits of the block's sums, whatever the other warps add.
  __device__ bool has_room() const { return most_ < block_room / warps / 2; }
  __device__ void sums_given() { most_ = 0; }
  __device__ void give_tally(DeviceTally* tally) { seen_.give(tally); }

  /// The EM step of 32 events from `begin` on.
  __device__ void add_group(std::int64_t begin) {
    const std::int64_t i = begin + lane_;
    const bool present = i < events_.count;
    float mine = present && events_.additive ? events_.additive[i] : 0.0f;  // expectation of this lane's event
    const unsigned meeting = stage(i, present, mine);
    const int count = __popc(meeting), own_place = __popc(meeting & ((1u << lane_) - 1));
    __syncwarp();
    unsigned at = staged_at_;
    for (int place = 0; place < count; ++place, at += sizeof(StagedEvent)) {
      const float expectation = add_event(begin, at);
      if (place == own_place && meeting >> lane_ & 1) mine = expectation;
    }
    __syncwarp();
    if (present) seen_.add(mine, usable(mine));
  }

 private:
  static constexpr int pixels = 2 * reach + 1;
  static constexpr int near_high = 32, near_low = 64;  // bits of RowEvent::number

  /// Lays out the events that meet the image one after the other; bits say which they are.
  __device__ unsigned stage(std::int64_t i, bool present, float additive) {
    StripResponse<float> response{};
    if (present) response = strip_response<float>(events_, i);
    const Terms terms = Terms::make(form, model_.geometry, model_.resolution, response);
    const StripBox box = strip_box(terms, model_.grid);
    const bool meets = present && box.y_first <= box.y_last && box.z_first <= box.z_last;
    const unsigned meeting = __ballot_sync(all_lanes, meets);
    StagedEvent event{RowEvent::make(terms, model_.grid, box), RowEventRest::make(terms, additive)};
    event.rows.first_word = box.y_first * layout_.stride + layout_.margin - reach;
    event.rest.number = lane_;
    if constexpr (form == StripForm::full) {
      const NearEnds near = near_ends(model_, response);
      event.rest.number |= (near.high ? near_high : 0) | (near.low ? near_low : 0);
    }
    if (meets) staged_[__popc(meeting & ((1u << lane_) - 1))] = event;
    return meeting;
  }

  /// The EM step of an event; its expectation.
  __device__ float add_event(std::int64_t begin, unsigned at) {
    const RowEvent event = StagedEvent::read_rows(at);
    // A lane without a row goes with the last one, whose words are then read once for both.
    const int row_number = min(lane_, event.rows - 1);
    const float dy = fmaf(static_cast<float>(row_number), model_.grid.voxel_mm.y, event.dy);
    PixelRow<form> row(event, dy);
    const bool in_image =
        static_cast<unsigned>(row.column + reach) < static_cast<unsigned>(layout_.columns + 2 * reach);
    const bool active = in_image & (lane_ < event.rows) & PixelRow<form>::reached(event, dy);
    if (form != StripForm::gaussian && __any_sync(all_lanes, active && !row.regular(event, reach)))
      return add_rare(begin, StagedEvent::read_rest(at));
    const int word = in_image ? event.first_word + row_number * layout_.stride + row.column : 0;
    if (!active) row.exponent0 = -INFINITY;
    const RowEventRest rest = StagedEvent::read_rest(at);
    float p[pixels], sum = 0;
    fill_densities(row, rest, word, p);
#pragma unroll
    for (int k = 0; k < pixels; ++k) sum = fmaf(p[k], rho_[word + k], sum);
    sum = over_warp(sum * row.factor) + rest.additive;  // by the event's scale, as P
    const float expectation = rest.scale * sum;
    if (!usable(expectation)) return expectation;
    const float factor = scale_.of(__fdividef(row.factor, sum));
    int addend[pixels];
    int bits = 0;
#pragma unroll
    for (int k = 0; k < pixels; ++k) {
      addend[k] = __float_as_int(multiply(p[k], factor));
      bits |= addend[k];
    }
    const unsigned bound = __reduce_or_sync(all_lanes, static_cast<unsigned>(bits));
    if (bound < 1u << smallest_log2 || bound >= min(1u << largest_log2, block_room / warps - most_)) {
      add_rare(begin, rest);
      return expectation;
    }
    most_ += bound;
    if (active) {
      const unsigned address = sums_at_ + 4 * static_cast<unsigned>(word);
      [&]<int... k>(std::integer_sequence<int, k...>) {
        (add_shared<4 * k>(address, addend[k]), ...);
      }
      (std::make_integer_sequence<int, pixels>{});
    }
    return expectation;
  }

  /// P of the row's pixels, without the event's scale and the row's factor.
  __device__ void fill_densities(const PixelRow<form>& row, const RowEventRest& event, int word,
                                 float (&p)[pixels]) const {
    if (form != StripForm::full || event.number < near_high) {
#pragma unroll
      for (int k = 0; k < pixels; ++k) p[k] = row.density(k - reach);
      return;
    }
    // Near both ends: what is below the upper one less what is below the lower one; near one of them: what is on the
    // strips' side of it. One text for both, or instructions would not fit their cache.
    const bool both = event.number >= (near_high | near_low),
               mirrored = event.number < near_low + near_high && event.number >= near_low;
#pragma unroll
    for (int k = 0; k < pixels; ++k) p[k] = 0;
    const float* angles = event.number & near_low ? low_ : high_;
    for (int pass = both ? 2 : 1; pass > 0; --pass, angles = high_) {
      PixelRow<form> again = row;
      // Nothing of it is to be kept from pass to pass, which would take more registers than there are.
      asm("" : "+f"(again.exponent0), "+f"(again.mixed0), "+f"(again.norm0));
#pragma unroll
      for (int k = 0; k < pixels; ++k) p[k] = again.density_below(event, k - reach, angles[word + k], mirrored) - p[k];
    }
  }

  __device__ float add_rare(std::int64_t begin, const RowEventRest& event) const {
    return add_exactly<form>(model_, events_, begin + (event.number & 31), image_, shift_, fixed_);
  }

  const Model& model_;
  const EventView& events_;
  const RowsLayout& layout_;
  const float* image_;
  const FixedSums& fixed_;
  int shift_;
  FixedScale scale_;
  StagedEvent* staged_;
  unsigned staged_at_;
  const float *rho_, *low_, *high_;
  unsigned sums_at_;
  int lane_;
  unsigned most_ = 0;  // that this warp may have added to a pixel since sums were given
  LocalTally seen_;
};

// ---- a pass ----

template <StripForm form, int reach>
__global__ void __launch_bounds__(threads, 1)
    em_of_rows(Model model, EventView events, RowsLayout layout, const float* __restrict__ image,
               const unsigned* __restrict__ histogram, FixedSums fixed, DeviceTally* tally) {
  extern __shared__ float4 memory[];
  StagedEvent* const staged = reinterpret_cast<StagedEvent*>(memory) + threadIdx.x / 32 * 32;
  float* const rho = reinterpret_cast<float*>(reinterpret_cast<StagedEvent*>(memory) + threads);
  unsigned* const sums = reinterpret_cast<unsigned*>(rho + layout.words());
  float* const low = rho + 2 * layout.words();
  float* const high = rho + 3 * layout.words();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int shift = shift_of(histogram);
  if (threadIdx.x == 0) next_group = 0;

  for (int i = static_cast<int>(threadIdx.x); i < layout.words(); i += threads) {
    rho[i] = 0;
    sums[i] = 0;
    if constexpr (form == StripForm::full) low[i] = high[i] = 0;
  }
  __syncthreads();
  for (int pixel = static_cast<int>(threadIdx.x); pixel < fixed.pixels; pixel += threads) {
    const int at = layout.word(pixel);
    rho[at] = visible<form>(model, pixel) ? image[pixel] : 0.0f;
    if constexpr (form == StripForm::full) {
      low[at] = model.angles[pixel].low * half_log2e;
      high[at] = model.angles[pixel].high * half_log2e;
    }
  }
  __syncthreads();

  const auto give_sums = [&] {
    for (int pixel = static_cast<int>(threadIdx.x); pixel < fixed.pixels; pixel += threads) {
      unsigned& sum = sums[layout.word(pixel)];
      if (sum != 0 && visible<form>(model, pixel)) fixed.add(pixel, sum);
      sum = 0;
    }
    __syncthreads();
  };

  Rows<form, reach> rows(model, events, layout, image, fixed, shift, staged, rho, sums, low, high);
  // Warps take groups of events until none is left, or their sums might overflow soon: then all sums are given first.
  const std::int64_t all_groups = (events.count + 31) / 32, groups = (all_groups + gridDim.x - 1) / gridDim.x;
  const std::int64_t first_group = blockIdx.x * groups;
  const auto own_groups = static_cast<int>(max(std::int64_t{0}, min(groups, all_groups - first_group)));
  bool done = false;
  while (!done) {
    while (rows.has_room()) {
      int group = 0;
      if (lane == 0) group = atomicAdd(&next_group, 1);
      group = __shfl_sync(all_lanes, group, 0);
      if (group >= own_groups) break;
      rows.add_group((first_group + group) * 32);
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

/// The smallest reach that kernels are compiled for and that suffices; 0 for none.
int compiled_reach(const Grid& grid, const StripSettings& settings) {
  for (const int reach : reaches)
    if (needed_reach(grid, settings) <= reach) return reach;
  return 0;
}

std::size_t shared_limit() {
  int device = 0, limit = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "ask for the device's shared memory");
  constexpr int otherwise_used = 1024;  // by what kernels declare themselves
  return static_cast<std::size_t>(std::max(limit - otherwise_used, 0));
}

/// Calls use(form, reach), both known when it is compiled.
template <class Use>
void with_kernel(StripForm form, int reach, const Use& use) {
  with_form(form, [&](auto f) {
    if (reach == reaches[0]) return use(f, std::integral_constant<int, reaches[0]>{});
    use(f, std::integral_constant<int, reaches[1]>{});
  });
}

}  // namespace

bool EmOfRows::takes(const Grid& grid, const StripSettings& settings) {
  const int reach = compiled_reach(grid, settings);
  return reach > 0 && needed_rows(grid, settings) <= 32 &&
         shared_bytes(settings.form, RowsLayout::make(grid, reach)) <= shared_limit();
}

EmOfRows::EmOfRows(const Grid& grid, const StripSettings& settings)
    : form_(settings.form),
      reach_(compiled_reach(grid, settings)),
      fixed_(Buffer<long long>::zeros(Memory::device, FixedSums::bands * grid.voxels())),
      histogram_(Memory::device, exponents) {
  const auto bytes = static_cast<int>(shared_bytes(form_, RowsLayout::make(grid, reach_)));
  with_kernel(form_, reach_, [&](auto form, auto reach) {
    check_cuda(
        cudaFuncSetAttribute(em_of_rows<form.value, reach.value>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "get shared memory for the strips' EM step");
  });
}

void EmOfRows::queue(const Model& model, const EventView& events, const float* image, float* sums, DeviceTally* tally,
                     Stream stream) {
  if (events.count == 0) return;
  const RowsLayout layout = RowsLayout::make(model.grid, reach_);
  const FixedSums fixed{fixed_.data(), static_cast<int>(model.grid.voxels())};
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>((events.count + threads - 1) / threads, multiprocessors()));
  histogram_.clear(stream);
  with_kernel(form_, reach_, [&](auto form, auto reach) {
    constexpr int sample_threads = 64;
    sample_addends<form.value>
        <<<samples * 32 / sample_threads, sample_threads, 0, stream>>>(model, events, image, histogram_.data());
    check_launch("sample the strips' events");
    em_of_rows<form.value, reach.value><<<blocks, threads, shared_bytes(form_, layout), stream>>>(
        model, events, layout, image, histogram_.data(), fixed, tally);
    check_launch("launch the strips' EM step");
  });
  constexpr int take_threads = 128;
  take_fixed<<<static_cast<unsigned>((fixed.pixels + take_threads - 1) / take_threads), take_threads, 0, stream>>>(
      histogram_.data(), fixed, sums);
  check_launch("add the strips' sums");
}

}  // namespace tofstream::strip
