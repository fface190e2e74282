// The strip projector's EM step with the image and its sums in shared memory (share/doc/gpu.md, "Two strips"). A warp
// takes an event, a lane one row of its ellipse: the row's polynomials (kernel.hpp) are computed once, its few pixels
// stay in registers between the two passes, and rows begin in different banks of shared memory.
//
// Sums are fixed-point numbers, which shared memory adds faster than floats and in any order to the same result. Their
// scale comes from a sample of the events; an event whose addends are too large for it is added to 64-bit sums in
// global memory instead, on a scale of its own. Blocks add their sums to those now and then, before 32 bits could
// overflow.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/strip/strip_cuda.cuh"
#include "kernels/strip/strip_device.cuh"

namespace tofstream::strip {

namespace {

constexpr int threads = 1024;      // of a block, one of which fills a multiprocessor
constexpr int reaches[] = {5, 8};  // pixels to either side of a row's centre, as kernels are compiled

// ---- shared memory ----

/// An image in shared memory: z is fastest, with margins in which nothing is, so that no column is checked. Rows lie
/// two banks apart: neighbouring rows of an ellipse, whose centres are up to about a pixel apart, then seldom meet in
/// one.
struct RowsLayout {
  int rows, columns, margin, stride;

  static RowsLayout make(const Grid& grid, int reach) {
    const int margin = 2 * reach, width = grid.size[2] + 2 * margin;
    return {grid.size[1], grid.size[2], margin, (width + 29) / 32 * 32 + 2};
  }
  TOFSTREAM_HOST_DEVICE int words() const { return rows * stride; }
};

/// An event's terms as the lanes of a warp read them together, 16 bytes at a time; padded so that lanes write theirs to
/// different banks.
struct alignas(16) StagedEvent {
  float4 words[5];

  __device__ void set(const Terms& t, const StripBox& box) {
    words[0] = {t.y, t.z, t.tan, t.angle};
    words[1] = {t.across, t.along, t.m1, t.m2};
    words[2] = {t.s0, t.s1, t.n0, t.n1};
    words[3] = {t.n2, t.least_norm, t.scale, __int_as_float(box.y_first | box.y_last << 16)};
  }
  __device__ Terms terms() const {
    const float4 a = words[0], b = words[1], c = words[2], d = words[3];
    return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w, d.x, d.y, d.z};
  }
  __device__ int first_row() const { return __float_as_int(words[3].w) & 0xffff; }
  __device__ int last_row() const { return __float_as_int(words[3].w) >> 16; }
};

template <StripForm form>
std::size_t shared_bytes(const RowsLayout& layout) {
  constexpr int images = form == StripForm::full ? 4 : 2;
  return static_cast<std::size_t>(images) * static_cast<std::size_t>(layout.words()) * sizeof(float) +
         std::size_t{threads} * sizeof(StagedEvent);
}

// ---- scales ----

/// A usual event's largest addend is about 2^usual_log2, and none is 2^largest_log2 or more; so many turns of a block's
/// threads then fit 32 bits.
constexpr int usual_log2 = 12, largest_log2 = 18, turns_between_sums = 8;
static_assert((std::int64_t{threads} * turns_between_sums << largest_log2) <= std::int64_t{1} << 31);

constexpr int exponents = 256, exponent_bias = 127, samples = 4096;

/// 64-bit sums of a pass: one image of them for usual events, and one for every further 2^band_log2 of the others.
constexpr int bands = 4, band_log2 = 32;

/// The power of two that values are multiplied by: what the mean exponent of the samples' largest addends makes
/// usual_log2, within what FixedScale can say. All lanes of a warp call.
__device__ int scale_of(const unsigned* histogram) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned count = 0, weighted = 0;
  for (int exponent = lane; exponent < exponents; exponent += 32) {
    count += histogram[exponent];
    weighted += histogram[exponent] * static_cast<unsigned>(exponent);
  }
  count = __reduce_add_sync(all_lanes, count);
  weighted = __reduce_add_sync(all_lanes, weighted);
  return count == 0 ? 0 : max(-90, usual_log2 + exponent_bias - static_cast<int>((weighted + count / 2) / count));
}

/// Counts the exponents of about the largest addend of events that are spread over all.
template <StripForm form>
__global__ void sample_ratios(Model model, EventView events, const float* __restrict__ image, unsigned* histogram) {
  const std::int64_t number = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const std::int64_t taken = min(std::int64_t{samples}, events.count);
  if (number >= taken) return;
  const std::int64_t i = number * events.count / taken;
  const Terms event = model.terms<form>(events, i);
  float sum = 0;
  WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
    if (inside) sum += model.density<form>(event, row, column) * image[model.grid.index(0, row, column)];
  });
  const float expectation = over_warp(sum) + (events.additive ? events.additive[i] : 0.0f);
  const float largest = event.scale * rsqrtf(fmaxf(event.n0, event.least_norm)) / expectation;
  if (threadIdx.x % 32 == 0 && usable(expectation) && usable(largest))
    atomicAdd(histogram + (__float_as_uint(largest) >> 23), 1u);
}

// ---- an event ----

/// Of a warp's 32 events those whose photons may have missed an end of a strip: within 6.2 sigma of it, beyond which
/// the share of angles at either side of the full form is 0 to 3e-8. An ellipse's pixel moves a photon by at most 3
/// sigma within what is measured, and what is left then is worth sqrt(6.2^2 - 3^2) standard deviations of the angle.
struct NearEnds {
  unsigned high = 0, low = 0;  // angles; a bit an event

  template <StripForm form>
  __device__ static NearEnds of(const Model& model, const StripResponse<float>& r) {
    if constexpr (form != StripForm::full) return {};
    const auto room = [&](float z) {
      return 0.5f * model.geometry.length_mm - 6.2f * strip_sigma_z(model.resolution, model.geometry, z);
    };
    const float up = room(r.z_up_mm), down = room(r.z_down_mm);
    const bool always = model.always_near_ends;
    return {__ballot_sync(all_lanes, always || r.z_up_mm > up || r.z_down_mm < -down),
            __ballot_sync(all_lanes, always || r.z_up_mm < -up || r.z_down_mm > down)};
  }
};

/// The share of a standard Gaussian beyond `deviations`.
__device__ inline float share_beyond(float deviations) {
  return 0.5f - 0.5f * error_function(0.70710678f * deviations);
}

/// One lane's row of an event: P of the pixels about its centre, without the event's scale, and where they are.
template <StripForm form, int reach>
struct EventRow {
  static constexpr int pixels = 2 * reach + 1;
  float p[pixels];
  int first;  // word of the first pixel
  int row, column;
  bool active;  // some of the row is in the ellipse and the image

  __device__ EventRow(const Model& model, const RowsLayout& layout, const StagedEvent& staged) {
    constexpr float magic = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to a whole number
    const Terms event = staged.terms();
    row = staged.first_row() + static_cast<int>(threadIdx.x) % 32;
    dy_ = model.y(row) - event.y;
    const float centre = (fmaf(dy_, event.tan, event.z) - model.grid.origin_mm.z) * model.per_z;
    const float rounded = centre + magic;
    column = __float_as_int(rounded) - __float_as_int(magic) - reach;
    shift_ = ((rounded - magic) - centre) * model.grid.voxel_mm.z;
    first = row * layout.stride + layout.margin + column;
    active = row <= staged.last_row() && event.along * dy_ * dy_ <= strip_cut && column >= -2 * reach &&
             column < layout.columns;
  }

  /// The row's sum of P times the image.
  __device__ float forward(const Model& model, Terms event, const float* rho, const float* low, const float* high,
                           bool near_high, bool near_low) {
    constexpr StripForm without_ends = form == StripForm::full ? StripForm::eq7 : form;
    event.scale = 1;
    const StripRow<float> of_row = strip_row<float>(event, dy_);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < pixels; ++k) {
      const float shift = fmaf(static_cast<float>(k - reach), model.grid.voxel_mm.z, shift_);
      const auto pixel = of_row.template at<form>(event, shift);
      p[k] = strip_density<without_ends, float>(event, pixel, Angles{});
      if constexpr (form == StripForm::full) {
        const float norm = fmaxf(pixel.norm, event.least_norm), deviation = reciprocal_square_root(norm);
        const float turn = pixel.mixed * deviation, root = norm * deviation;
        float share = 1;
        if (near_high) share -= share_beyond(fmaf(high[first + k] - event.angle, root, turn));
        if (near_low) share -= share_beyond(-fmaf(low[first + k] - event.angle, root, turn));
        p[k] *= fmaxf(share, 0.0f);
      }
      sum = fmaf(p[k], rho[first + k], sum);
    }
    return sum;
  }

 private:
  float dy_, shift_;
};

/// A product whose denormal result stays as it is.
__device__ inline float multiply(float a, float b) {
  float product;
  asm("mul.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

/// What multiplies an event's P so that a denormal float with the bits of a whole number comes out, a multiple of
/// 2^-shift of the value.
struct FixedScale {
  float first, second;

  __device__ explicit FixedScale(int shift) {
    const int all = shift - 149, of_first = max(all, -120);
    first = ldexpf(1.0f, of_first);
    second = ldexpf(1.0f, all - of_first);
  }
  __device__ float of(float ratio) const { return multiply(multiply(ratio, first), second); }
};

/// Adds an event with large addends, pixel by pixel.
template <StripForm form, int reach>
__device__ __noinline__ void add_large(const RowsLayout& layout, EventRow<form, reach> row, float ratio, int shift,
                                       long long* fixed) {
  for (int k = 0; k < EventRow<form, reach>::pixels; ++k) {
    const int column = row.column + k;
    if (row.p[k] == 0 || column < 0 || column >= layout.columns) continue;
    double value = ldexp(static_cast<double>(row.p[k]) * static_cast<double>(ratio), shift);
    int band = 0;
    for (; band < bands - 1 && value >= 0x1p40; ++band) value = ldexp(value, -band_log2);
    const std::size_t pixel = static_cast<std::size_t>(row.row) + static_cast<std::size_t>(layout.rows) * column;
    const std::size_t place = static_cast<std::size_t>(layout.rows) * layout.columns * band + pixel;
    atomicAdd(reinterpret_cast<unsigned long long*>(fixed) + place,
              static_cast<unsigned long long>(__double2ll_rn(fmin(value, 0x1p62))));
  }
}

/// Adds to a word of shared memory.
__device__ inline void add_shared(unsigned address, int value) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// ---- a pass ----

template <StripForm form, int reach>
__global__ void __launch_bounds__(threads, 1)
    em_of_rows(Model model, EventView events, RowsLayout layout, const float* __restrict__ image,
               const unsigned* __restrict__ histogram, long long* fixed, DeviceTally* tally) {
  extern __shared__ float4 memory[];
  StagedEvent* const staged = reinterpret_cast<StagedEvent*>(memory) + threadIdx.x / 32 * 32;
  float* const rho = reinterpret_cast<float*>(reinterpret_cast<StagedEvent*>(memory) + threads);
  unsigned* const sums = reinterpret_cast<unsigned*>(rho + layout.words());
  float* const low = rho + 2 * layout.words();
  float* const high = rho + 3 * layout.words();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int pixels = layout.rows * layout.columns;
  const int shift = scale_of(histogram);
  const FixedScale scale(shift);

  // Word of a pixel, which is counted as the image has it.
  const auto word = [&](int pixel) {
    const int column = pixel / layout.rows;
    return (pixel - column * layout.rows) * layout.stride + layout.margin + column;
  };
  for (int i = static_cast<int>(threadIdx.x); i < layout.words(); i += threads) {
    rho[i] = 0;
    sums[i] = 0;
  }
  __syncthreads();
  for (int pixel = static_cast<int>(threadIdx.x); pixel < pixels; pixel += threads) {
    const int at = word(pixel);
    rho[at] = image[pixel];
    if constexpr (form == StripForm::full) {
      low[at] = model.angles[pixel].low;
      high[at] = model.angles[pixel].high;
    }
  }
  __syncthreads();

  const auto give_sums = [&] {
    __syncthreads();
    for (int pixel = static_cast<int>(threadIdx.x); pixel < pixels; pixel += threads) {
      unsigned& sum = sums[word(pixel)];
      if (sum == 0) continue;
      atomicAdd(reinterpret_cast<unsigned long long*>(fixed) + pixel, static_cast<unsigned long long>(sum));
      sum = 0;
    }
    __syncthreads();
  };

  LocalTally seen;
  int turn = 0;
  for (std::int64_t begin = std::int64_t{blockIdx.x} * threads; begin < events.count;
       begin += std::int64_t{gridDim.x} * threads) {
    const std::int64_t i = begin + threadIdx.x;
    const bool present = i < events.count;
    unsigned left = 0;
    NearEnds near;
    {
      StripResponse<float> response{};
      if (present) response = strip_response<float>(events, i);
      const Terms event = Terms::make(form, model.geometry, model.resolution, response);
      const StripBox box = strip_box(event, model.grid);
      left = __ballot_sync(all_lanes, present && box.y_first <= box.y_last && box.z_first <= box.z_last);
      near = NearEnds::of<form>(model, response);
      staged[lane].set(event, box);
    }
    const float additive = present && events.additive ? events.additive[i] : 0.0f;
    float mine = additive;
    __syncwarp();
    while (left != 0) {
      const int number = __ffs(static_cast<int>(left)) - 1;
      left &= left - 1;
      const Terms event = staged[number].terms();
      EventRow<form, reach> row(model, layout, staged[number]);
      float sum = 0;
      if (row.active) sum = row.forward(model, event, rho, low, high, near.high >> number & 1, near.low >> number & 1);
      sum = over_warp(sum);
      float expectation = event.scale * sum;
      if (events.additive) expectation += __shfl_sync(all_lanes, additive, number);
      if (lane == number) mine = expectation;
      if (!usable(expectation)) continue;
      const float ratio = __fdividef(event.scale, expectation), factor = scale.of(ratio);
      int addend[EventRow<form, reach>::pixels];
      int bits = 0;
      if (row.active) {
#pragma unroll
        for (int k = 0; k < EventRow<form, reach>::pixels; ++k) {
          addend[k] = __float_as_int(multiply(row.p[k], factor));
          bits |= addend[k];
        }
      }
      if (__any_sync(all_lanes, bits >= 1 << largest_log2)) {
        if (row.active) add_large(layout, row, ratio, shift, fixed);
      } else if (row.active) {
        const auto address = static_cast<unsigned>(__cvta_generic_to_shared(sums + row.first));
#pragma unroll
        for (int k = 0; k < EventRow<form, reach>::pixels; ++k) add_shared(address + 4 * k, addend[k]);
      }
    }
    __syncwarp();
    if (present) seen.add(mine, usable(mine));
    if (++turn % turns_between_sums == 0) give_sums();
  }
  give_sums();
  seen.give(tally);
}

/// sums += the pass's fixed-point numbers, which become 0 for the next one.
__global__ void take_fixed(int pixels, const unsigned* __restrict__ histogram, long long* fixed, float* sums) {
  const int shift = scale_of(histogram);
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (pixel >= pixels) return;
  double sum = 0;
  for (int band = bands - 1; band >= 0; --band) {
    long long& of_band = fixed[static_cast<std::size_t>(band) * pixels + pixel];
    sum = ldexp(sum, band_log2) + static_cast<double>(of_band);
    of_band = 0;
  }
  sums[pixel] += static_cast<float>(ldexp(sum, -shift));
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

std::size_t bytes_of(const Grid& grid, StripForm form, int reach) {
  const RowsLayout layout = RowsLayout::make(grid, reach);
  std::size_t bytes = 0;
  with_form(form, [&](auto f) { bytes = shared_bytes<f.value>(layout); });
  return bytes;
}

std::size_t shared_limit() {
  int device = 0, limit = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "ask for the device's shared memory");
  return static_cast<std::size_t>(limit);
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
  return reach > 0 && needed_rows(grid, settings) <= 32 && bytes_of(grid, settings.form, reach) <= shared_limit();
}

EmOfRows::EmOfRows(const Grid& grid, const StripSettings& settings)
    : form_(settings.form),
      reach_(compiled_reach(grid, settings)),
      fixed_(Buffer<long long>::zeros(Memory::device, bands * grid.voxels())),
      histogram_(Memory::device, exponents) {
  with_kernel(form_, reach_, [&](auto form, auto reach) {
    check_cuda(cudaFuncSetAttribute(em_of_rows<form.value, reach.value>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes_of(grid, form_, reach_))),
               "get shared memory for the strips' EM step");
  });
}

void EmOfRows::queue(const Model& model, const EventView& events, const float* image, float* sums, DeviceTally* tally,
                     Stream stream) {
  if (events.count == 0) return;
  const RowsLayout layout = RowsLayout::make(model.grid, reach_);
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>((events.count + threads - 1) / threads, multiprocessors()));
  histogram_.clear(stream);
  with_kernel(form_, reach_, [&](auto form, auto reach) {
    constexpr int sample_threads = 128;
    sample_ratios<form.value>
        <<<samples * 32 / sample_threads, sample_threads, 0, stream>>>(model, events, image, histogram_.data());
    check_launch("sample the strips' events");
    em_of_rows<form.value, reach.value><<<blocks, threads, bytes_of(model.grid, form_, reach_), stream>>>(
        model, events, layout, image, histogram_.data(), fixed_.data(), tally);
    check_launch("launch the strips' EM step");
  });
  const auto pixels = static_cast<int>(model.grid.voxels());
  constexpr int take_threads = 128;
  take_fixed<<<static_cast<unsigned>((pixels + take_threads - 1) / take_threads), take_threads, 0, stream>>>(
      pixels, histogram_.data(), fixed_.data(), sums);
  check_launch("add the strips' sums");
}

}  // namespace tofstream::strip
