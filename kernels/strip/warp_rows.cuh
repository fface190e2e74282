// A warp's part of the strips' EM step by rows: events from global memory, 32 at a time, P of a row's pixels in
// registers, image and sums in shared memory.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/strip/fixed_sums.cuh"
#include "kernels/strip/row-inl.hpp"

namespace tofstream::strip {

inline constexpr unsigned block_room = 0xffffffffu;  // what a word of a block's sums can hold

/// For which ellipses a kernel is compiled: a lane has a row of each of `windows` windows of 32 rows, with `reach`
/// pixels to either side of the row's centre.
struct RowsShape {
  int reach, windows;
  constexpr RowsShape(int of_reach, int of_windows) : reach(of_reach), windows(of_windows) {}
  friend constexpr bool operator==(const RowsShape&, const RowsShape&) = default;

  constexpr int pixels() const { return 2 * reach + 1; }
  /// A block fills a multiprocessor. P of two rows takes twice the registers, so there are half as many lanes; and
  /// pixels that need two windows leave less room beside the images.
  constexpr int threads() const { return windows == 1 ? 1024 : 512; }
  constexpr int warps() const { return threads() / 32; }
  /// Events that a warp prepares at once.
  constexpr int group() const { return windows == 1 ? 32 : 16; }
  /// Whether the angles of the strips' ends are read from shared memory; else from EndsTable's.
  constexpr bool has_angles(StripForm form) const { return form == StripForm::full && windows == 1; }
};

/// An image in shared memory: z is fastest, with a margin between rows in which nothing is, so that no column is
/// checked. Rows lie two banks apart: neighbouring rows of an ellipse, whose centres are up to about a pixel apart,
/// then seldom meet in one.
struct RowsLayout {
  int rows, columns, margin, stride;

  static RowsLayout make(const Grid& grid, int reach) {
    const int margin = 2 * reach, width = grid.size[2] + margin;
    return {grid.size[1], grid.size[2], margin, (width + 29) / 32 * 32 + 2};
  }
  /// With the first row's margin, and what a lane without a row may read.
  TOFSTREAM_HOST_DEVICE int words() const { return margin + rows * stride + 64; }
  /// Where a pixel lies, which is counted as the image has it.
  __device__ int word(int pixel) const {
    const int column = pixel / rows;
    return (pixel - column * rows) * stride + margin + column;
  }
};

/// The angles of the strips' ends of each pixel, in PixelRow's unit, where shared memory has no room for them: the
/// lowest of all pixels, then the highest. y is fastest, so that the lanes of a warp, which have neighbouring rows,
/// read neighbouring words; a margin of columns, of which nothing is added, lets none be checked.
struct EndsTable {
  int rows, columns, margin;

  TOFSTREAM_HOST_DEVICE static EndsTable make(const Grid& grid, int reach) {
    return {grid.size[1], grid.size[2], 2 * reach};
  }
  TOFSTREAM_HOST_DEVICE int of_one_end() const { return (columns + 2 * margin) * rows; }
  /// Where the pixel of a row and a column, which may be as far outside as `margin`, lies among those of one end.
  TOFSTREAM_HOST_DEVICE int place(int row, int column) const { return (column + margin) * rows + row; }
};

/// Those of a row's pixels, counted from the one nearest to the ellipse's middle.
struct RowEnds {
  const float* middle;
  int stride;
  __device__ float operator[](int k) const { return __ldg(middle + k * stride); }
};

/// Whether decays at the pixel can be seen: else it has no P, whatever a row says.
template <StripForm form>
__device__ bool visible(const Model& model, int pixel) {
  if constexpr (form != StripForm::full) return true;
  return model.angles[pixel].low < model.angles[pixel].high;
}

/// Adds an event that is not one of the usual ones, by all lanes of a warp. Returns its expectation.
template <StripForm form>
__device__ __noinline__ float add_exactly(const Model& model, const EventView& events, std::int64_t i,
                                          const float* __restrict__ image, int shift, FixedSums sums) {
  const Terms event = model.terms<form>(events, i);
  const float additive = events.additive ? events.additive[i] : 0.0f;
  const float expectation = WarpSum::of<form>(model, event, image).sum + additive;
  if (!usable(expectation)) return expectation;
  const double ratio = ldexp(1 / static_cast<double>(expectation), shift);
  WarpBox(event, model.grid).for_each([&](int row, int column, bool inside) {
    const float p = inside ? model.density<form>(event, row, column) : 0.0f;
    if (p > 0) sums.add_exactly(static_cast<int>(model.grid.index(0, row, column)), static_cast<double>(p) * ratio);
  });
  return expectation;
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
  asm("" : "+r"(address));  // otherwise it is computed again every time
  return address;
}

/// Adds to a word of shared memory.
template <int offset>
__device__ inline void add_shared(unsigned address, int value) {
  asm volatile("red.shared.add.u32 [%0 + %1], %2;" ::"r"(address), "n"(offset), "r"(value) : "memory");
}

/// A warp's part of a pass.
template <StripForm form, RowsShape shape>
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

  /// Whether the next group of events fits the 32 bits of the block's sums, whatever the other warps add.
  __device__ bool has_room() const {
    constexpr unsigned of_group = static_cast<unsigned>(shape.group()) << largest_log2;
    return most_ < block_room / static_cast<unsigned>(shape.warps()) - of_group;
  }
  __device__ void sums_given() { most_ = 0; }
  __device__ void give_tally(DeviceTally* tally) { seen_.give(tally); }

  /// The EM step of a group of events from `begin` on.
  __device__ void add_group(std::int64_t begin) {
    const std::int64_t i = begin + lane_;
    const bool present = lane_ < shape.group() && i < events_.count;
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
  static constexpr int reach = shape.reach, pixels = shape.pixels();

  /// A lane's row of a window.
  struct Part {
    float factor = 0;     // of P
    int word = 0;         // of the first of its pixels
    bool active = false;  // whether it may meet the ellipse
  };

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
    event.rest.packed = box.y_first << RowEventRest::first_row_shift | lane_;
    if constexpr (form == StripForm::full) {
      const StripNearEnds near = strip_near_ends(model_.geometry, model_.resolution, response);
      event.rest.packed |= (near.high ? RowEventRest::near_high : 0) | (near.low ? RowEventRest::near_low : 0);
    }
    if (meets) staged_[__popc(meeting & ((1u << lane_) - 1))] = event;
    return meeting;
  }

  /// The EM step of an event. Returns its expectation.
  __device__ float add_event(std::int64_t begin, unsigned at) {
    const RowEvent event = StagedEvent::read_rows(at);
    Part parts[shape.windows];
    PixelRow<form> rows[shape.windows];
    bool regular = true;
#pragma unroll
    for (int w = 0; w < shape.windows; ++w) regular &= take_row(event, w, rows[w], parts[w]);
    if (form != StripForm::gaussian && !__all_sync(all_lanes, regular))
      return add_rare(begin, StagedEvent::read_rest(at));
    const RowEventRest rest = StagedEvent::read_rest(at);
    float p[shape.windows][pixels], sum = 0;
    fill_densities(rows, rest, parts, p);
#pragma unroll
    for (int w = 0; w < shape.windows; ++w) sum += of_row(parts[w], p[w]);
    sum = over_warp(sum) + rest.additive;  // by the event's scale, as P
    const float expectation = rest.scale * sum;
    if (!usable(expectation)) return expectation;
    int addend[shape.windows][pixels];
    int bits = 0;
#pragma unroll
    for (int w = 0; w < shape.windows; ++w) {
      const float factor = scale_.of(__fdividef(parts[w].factor, sum));
#pragma unroll
      for (int k = 0; k < pixels; ++k) {
        addend[w][k] = __float_as_int(multiply(p[w][k], factor));
        bits |= addend[w][k];
      }
    }
    const unsigned bound = __reduce_or_sync(all_lanes, static_cast<unsigned>(bits));
    if (bound < 1u << smallest_log2 || bound >= 1u << largest_log2) {
      add_rare(begin, rest);
      return expectation;
    }
    most_ += bound;
#pragma unroll
    for (int w = 0; w < shape.windows; ++w)
      if (parts[w].active) add_row(parts[w], addend[w]);
    return expectation;
  }

  /// The lane's row of window `w`, and what is to be known of it; false where eq. 7 does not hold in it.
  __device__ bool take_row(const RowEvent& event, int w, PixelRow<form>& row, Part& part) const {
    // A lane without a row goes with the last one, whose words are then read once for both.
    const int number = 32 * w + lane_, row_number = min(number, event.rows - 1);
    const float dy = fmaf(static_cast<float>(row_number), model_.grid.voxel_mm.y, event.dy);
    row = PixelRow<form>(event, dy);
    const bool in_image =
        static_cast<unsigned>(row.column + reach) < static_cast<unsigned>(layout_.columns + 2 * reach);
    part.active = in_image & (number < event.rows) & PixelRow<form>::reached(event, dy);
    part.word = in_image ? event.first_word + row_number * layout_.stride + row.column : 0;
    part.factor = row.factor;
    const bool regular = !part.active || row.regular(event, reach);
    if (!part.active) row.exponent0 = -INFINITY;
    return regular;
  }

  /// The sum of the row's P times the image.
  __device__ float of_row(const Part& part, const float (&p)[pixels]) const {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < pixels; ++k) sum = fmaf(p[k], rho_[part.word + k], sum);
    return sum * part.factor;
  }

  __device__ void add_row(const Part& part, const int (&addend)[pixels]) const {
    const unsigned address = sums_at_ + 4 * static_cast<unsigned>(part.word);
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (add_shared<4 * k>(address, addend[k]), ...);
    }
    (std::make_integer_sequence<int, pixels>{});
  }

  /// P of the rows' pixels, without the event's scale and the rows' factors. Leaves rows and parts as they are.
  __device__ void fill_densities(PixelRow<form> (&rows)[shape.windows], const RowEventRest& event,
                                 Part (&parts)[shape.windows], float (&p)[shape.windows][pixels]) const {
    if constexpr (form == StripForm::full)
      if (event.packed & (RowEventRest::near_high | RowEventRest::near_low)) {
        // The same code for all windows, since otherwise instructions would not fit their cache: each window takes its
        // turn to be the first.
#pragma unroll 1
        for (int w = 0; w < shape.windows; ++w) {
          fill_near_ends(rows[0], 32 * w + lane_, parts[0].word, event, p[0]);
          rotate(rows);
          rotate(parts);
          rotate(p);
        }
        return;
      }
#pragma unroll
    for (int w = 0; w < shape.windows; ++w)
#pragma unroll
      for (int k = 0; k < pixels; ++k) p[w][k] = rows[w].density(k - reach);
  }

  template <class T>
  __device__ static void rotate(T (&of_windows)[shape.windows]) {
    if constexpr (shape.windows == 2) {
      T first;
      memcpy(&first, &of_windows[0], sizeof(T));
      memcpy(&of_windows[0], &of_windows[1], sizeof(T));
      memcpy(&of_windows[1], &first, sizeof(T));
    }
  }

  /// Near both ends: what is below the upper one less what is below the lower one; near one of them: what is on the
  /// strips' side of it. One text for both here too.
  __device__ void fill_near_ends(const PixelRow<form>& row, int number, int word, const RowEventRest& event,
                                 float (&p)[pixels]) const {
    const bool low = event.packed & RowEventRest::near_low, high = event.packed & RowEventRest::near_high;
    const bool both = low && high, mirrored = low && !high;
#pragma unroll
    for (int k = 0; k < pixels; ++k) p[k] = 0;
    auto angles = ends_of(row, number, word, low, event);
#pragma unroll 1
    for (int pass = both ? 2 : 1; pass > 0; --pass, angles = ends_of(row, number, word, false, event)) {
      PixelRow<form> again = row;
      // Keeps nothing of it from pass to pass, which would take more registers than there are.
      asm("" : "+f"(again.exponent0), "+f"(again.mixed0), "+f"(again.norm0));
#pragma unroll
      for (int k = -reach; k <= reach; ++k)
        p[k + reach] = fmaxf(again.density_below(event, k, angles[k], mirrored) - p[k + reach], 0.0f);
    }
  }
  /// By pixel of the row, the lowest or highest angles at which photons meet both strips.
  __device__ auto ends_of(const PixelRow<form>& row, int number, int word, bool lowest,
                          const RowEventRest& event) const {
    const float* const ends = lowest ? low_ : high_;
    if constexpr (shape.has_angles(form)) {
      return ends + word + reach;
    } else {
      const EndsTable table = EndsTable::make(model_.grid, reach);
      const int y = min((event.packed >> RowEventRest::first_row_shift) + number, table.rows - 1);
      const int column = min(max(row.column, -reach), table.columns + reach - 1);
      return RowEnds{ends + table.place(y, column), table.rows};
    }
  }

  __device__ float add_rare(std::int64_t begin, const RowEventRest& event) const {
    return add_exactly<form>(model_, events_, begin + (event.packed & RowEventRest::number_bits), image_, shift_,
                             fixed_);
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

}  // namespace tofstream::strip
// SPDX-License-Identifier: Apache-2.0
