// The strip projector on the CPU: per event the columns of its ellipse (contiguous in memory, and taller than its rows
// are wide), a pixel a lane, a vector of each column in a first pass and more of the tall ones in the next; a column a
// lane prepares them. Kernel values are kept from the forward to the back projection. Compiled for each instruction
// set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strip/strip_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <algorithm>
#include <cstring>

#include <hwy/highway.h>

#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/expectation.hpp"
#include "kernels/strip/kernel-inl.hpp"
#include "kernels/strip/sensitivity.hpp"
#include "kernels/strip/strip_backends.hpp"

#ifndef TOFSTREAM_STRIP_CPU_ONCE
#define TOFSTREAM_STRIP_CPU_ONCE
namespace tofstream {

/// Floats after an image, and after a table of pixels, that whole vectors may reach.
inline constexpr std::int64_t strip_padding = 16;

/// What all threads share: the settings, and the angles of each pixel for the full form.
struct StripSetup {
  Grid grid;
  StripSettings settings;
  std::vector<float> y;  // of each row of pixels; beyond the last, far away
  std::vector<float> low, high;
  float per_y, per_z;  // 1 / edges of a pixel

  static StripSetup make(const Grid& grid, const StripSettings& settings) {
    StripSetup setup{grid, settings, {}, {}, {}, 1 / grid.voxel_mm.y, 1 / grid.voxel_mm.z};
    for (int j = 0; j < grid.size[1]; ++j) setup.y.push_back(grid.centre(0, j, 0).y);
    setup.y.resize(setup.y.size() + 2 * strip_padding, 1e9f);
    if (settings.form != StripForm::full) return setup;
    const auto size = static_cast<std::size_t>(grid.voxels() + strip_padding);
    setup.low.resize(size, 0.0f);
    setup.high.resize(size, 0.0f);
    for (int k = 0; k < grid.size[2]; ++k)
      for (int j = 0; j < grid.size[1]; ++j) {
        const Vec3d centre = grid.centre(0, j, k).as<double>();
        const StripAngles<double> angles = strip_angles(settings.geometry, centre.y, centre.z);
        const auto pixel = static_cast<std::size_t>(grid.index(0, j, k));
        setup.low[pixel] = static_cast<float>(angles.low);
        setup.high[pixel] = static_cast<float>(angles.high);
      }
    return setup;
  }
};

/// Arrays for one event at a time.
struct StripStore {
  struct Pass {
    int first = 0, last = -1;  // columns of the image
  };
  StripStore(const Grid& grid, std::int64_t lanes) : passes(static_cast<std::size_t>(grid.size[1] / lanes + 1)) {
    const std::int64_t columns = grid.size[2] + strip_padding;
    numbers = Buffer<float>(Memory::host, 6 * columns);
    for (int c = 0; c < 6; ++c) coefficient[c] = numbers.data() + c * columns;
    first = Buffer<std::int32_t>(Memory::host, columns);
    const std::int64_t vectors = grid.size[2] * static_cast<std::int64_t>(passes.size());
    offsets = Buffer<std::int32_t>(Memory::host, vectors);
    weights = Buffer<float>(Memory::host, vectors * lanes);
  }
  std::vector<Pass> passes;
  Buffer<float> numbers;
  float* coefficient[6];         // of each column: those of its polynomials that columns do not share
  Buffer<std::int32_t> first;    // pixel of each column's chord
  Buffer<std::int32_t> offsets;  // in the image, of each vector of weights
  Buffer<float> weights;
};

}  // namespace tofstream
#endif

TOFSTREAM_LANES_BEGIN

/// One event: its columns, then its weights. Preparing and evaluating are calls of their own, made for several events
/// in turn, since a core overlaps the long chains of dependent operations of one event only with those of others.
template <StripForm form>
class StripTracer {
 public:
  explicit StripTracer(const StripSetup& setup) : setup_(setup), store_(setup.grid, lanes) {}

  /// Finds event i's columns. Flattened, so that the event's numbers are prepared with this instruction set too.
  HWY_FLATTEN void prepare(const EventView& events, std::int64_t i) {
    event_ = StripEventTerms<float>::make(form, setup_.settings.geometry, setup_.settings.resolution,
                                          strip_response<float>(events, i));
    vectors_ = 0;
    passes_ = 0;
    if (!event_.finite()) return;
    // Of a column dz from the emission: squared half of its chord (pixels) = most - narrowing dz^2.
    const float per_steepness = 1 / (event_.along + event_.across * event_.tan * event_.tan), per_y = setup_.per_y;
    const float most = strip_cut * per_steepness * per_y * per_y;
    const float narrowing = event_.across * event_.along * per_steepness * per_steepness * per_y * per_y;
    find_passes(most, 1 / narrowing);
    if (passes_ > 0)
      prepare_columns(event_, store_.passes[0], most, narrowing, event_.across * event_.tan * per_steepness);
  }

  /// Keeps the weights of all columns; the sum of their products with the image.
  float gather(const float* image) {
    if (passes_ == 0) return 0;
    FloatLanes sum = splat<FloatLanes>(0.0f);
    vectors_ = 0;
    for (int pass = 0; pass < passes_; ++pass) sum = sum + evaluate(pass, image);
    return event_.scale * sum_of_lanes(sum);
  }

  /// image += value x weights, of the event gathered last.
  void scatter(float value, float* image) const {
    if (vectors_ == 0) return;
    const FloatLanes values = splat<FloatLanes>(value * event_.scale);
    const float* weights = store_.weights.data();
    const std::int32_t* const offsets = store_.offsets.data();
    const std::int64_t vectors = vectors_;
    for (std::int64_t v = 0; v < vectors; ++v, weights += lanes) {
      float* const pixels = image + offsets[v];
      hn::StoreU(mul_add(hn::LoadU(d_, weights), values, hn::LoadU(d_, pixels)), d_, pixels);
    }
  }

 private:
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));

  /// The columns of each pass over the event, those whose chords may have more pixels than the passes before took: a
  /// vector of each.
  HWY_INLINE void find_passes(float most, float per_narrowing) {
    const Grid& grid = setup_.grid;
    const float middle = (event_.z - grid.origin_mm.z) * setup_.per_z;
    for (StripStore::Pass& columns : store_.passes) {
      const float half = passes_ == 0 ? 0.0f : 0.5f * static_cast<float>(passes_ * lanes - 1);
      const float rest = most - half * half;
      if (!(rest > 0)) return;
      const float reach = std::sqrt(rest * per_narrowing) * setup_.per_z;
      strip_pixels(middle - reach, middle + reach, grid.size[2], columns.first, columns.last);
      if (columns.first > columns.last) return;
      ++passes_;
    }
  }

  /// Of each column the first pixel of its chord, and its polynomials.
  HWY_INLINE void prepare_columns(const StripEventTerms<float> event, const StripStore::Pass& columns, float most,
                                  float narrowing, float slope) {
    const Grid& grid = setup_.grid;
    const FloatLanes zero = splat<FloatLanes>(0.0f), size = splat<FloatLanes>(static_cast<float>(grid.size[1]));
    const FloatLanes y = splat<FloatLanes>((event.y - grid.origin_mm.y) * setup_.per_y + 0.999f);  // rounds up
    const IndexTag index;
    std::int32_t* const first = store_.first.data();
    float* const* const coefficients = store_.coefficient;
    const int count = columns.last - columns.first + 1;
    FloatLanes dz = mul_add(lane_index<FloatLanes>() + splat<FloatLanes>(static_cast<float>(columns.first)),
                            splat<FloatLanes>(grid.voxel_mm.z), splat<FloatLanes>(grid.origin_mm.z - event.z));
    for (int at = 0; at < count; at += lanes) {
      const FloatLanes half =
          square_root(maximum(splat<FloatLanes>(most) - splat<FloatLanes>(narrowing) * dz * dz, zero));
      const FloatLanes begin = round_down(mul_add(splat<FloatLanes>(slope * setup_.per_y), dz, y) - half);
      hn::StoreU(hn::ConvertTo(index, minimum(maximum(begin, zero), size)), index, first + at);
      const StripColumn<FloatLanes> column = strip_column<form>(event, dz);
      hn::StoreU(column.squared0, d_, coefficients[0] + at);
      hn::StoreU(column.squared1, d_, coefficients[1] + at);
      if constexpr (form != StripForm::gaussian) {
        hn::StoreU(column.mixed0, d_, coefficients[2] + at);
        hn::StoreU(column.mixed1, d_, coefficients[3] + at);
        hn::StoreU(column.norm0, d_, coefficients[4] + at);
        hn::StoreU(column.norm1, d_, coefficients[5] + at);
      }
      dz = dz + splat<FloatLanes>(lanes * grid.voxel_mm.z);
    }
  }

  /// Of the columns of a pass the `pass`th vector of their chords.
  HWY_INLINE FloatLanes evaluate(int pass, const float* image) {
    // Copies, so that what is stored cannot change them: they stay in registers.
    const StripEventTerms<float> event = event_;
    const StripStore::Pass columns = store_.passes[static_cast<std::size_t>(pass)];
    const int skipped = columns.first - store_.passes[0].first, count = columns.last - columns.first + 1;
    const float* coefficients[6];
    for (int c = 0; c < 6; ++c) coefficients[c] = store_.coefficient[c] + skipped;
    const std::int32_t* const first = store_.first.data() + skipped;
    std::int32_t* const offsets = store_.offsets.data() + vectors_;
    float* const weights = store_.weights.data() + vectors_ * lanes;
    const float *low = setup_.low.data(), *high = setup_.high.data(), *ys = setup_.y.data();
    const int rows = setup_.grid.size[1];
    std::int32_t base = columns.first * rows;
    const FloatLanes event_y = splat<FloatLanes>(event.y);
    StripColumn<FloatLanes> column =
        strip_column<form>(event, splat<FloatLanes>(0.0f));  // what columns share is of any
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for (int at = 0; at < count; ++at, base += rows) {
      const int j = std::min(first[at] + pass * lanes, rows);
      const std::int32_t offset = base + j;
      column.squared0 = hn::Set(d_, coefficients[0][at]);
      column.squared1 = hn::Set(d_, coefficients[1][at]);
      if constexpr (form != StripForm::gaussian) {
        column.mixed0 = hn::Set(d_, coefficients[2][at]);
        column.mixed1 = hn::Set(d_, coefficients[3][at]);
        column.norm0 = hn::Set(d_, coefficients[4][at]);
        column.norm1 = hn::Set(d_, coefficients[5][at]);
      }
      StripAngles<FloatLanes> angles{};
      if constexpr (form == StripForm::full) angles = {hn::LoadU(d_, low + offset), hn::LoadU(d_, high + offset)};
      const FloatLanes dy = hn::LoadU(d_, ys + j) - event_y;
      const FloatLanes weight = strip_shape<form>(event, column.template at<form>(dy), angles);
      sum = mul_add(weight, hn::LoadU(d_, image + offset), sum);
      hn::StoreU(weight, d_, weights + at * lanes);
      offsets[at] = offset;
    }
    vectors_ += count;
    return sum;
  }

  const FloatTag d_;
  const StripSetup& setup_;
  StripStore store_;
  StripEventTerms<float> event_{};
  int passes_ = 0;
  std::int64_t vectors_ = 0;
};

template <StripForm form>
class StripKernel final : public CpuKernel {
 public:
  explicit StripKernel(StripSetup setup) : setup_(std::move(setup)) {}

  void forward(const EventView& events, const float* image, float* expectation) const override {
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      for (int e = 0; e < n; ++e) expectation[begin + e] = block[e].gather(image);
    });
  }
  void back(const EventView& events, const float* values, float* image) const override {
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      for (int e = 0; e < n; ++e) {
        block[e].gather(image);
        block[e].scatter(values ? values[begin + e] : 1.0f, image);
      }
    });
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator) const override {
    EmTally tally;
    LogSum logarithms;
    for_each_block(events, [&](auto& block, std::int64_t begin, int n) {
      float expectations[block_size];
      for (int e = 0; e < n; ++e) expectations[e] = block[e].gather(image);
      for (int e = 0; e < n; ++e) {
        const float expectation = expectations[e] + (events.additive ? events.additive[begin + e] : 0.0f);
        if (!usable(expectation)) {
          ++tally.skipped;
          continue;
        }
        ++tally.used;
        logarithms.add(expectation);
        block[e].scatter(1.0f / expectation, accumulator);
      }
    });
    tally.log_sum = logarithms.value();
    return tally;
  }

 private:
  static constexpr int block_size = 8;

  /// Calls visit(tracers that have prepared them, first event, count) for the events, block by block.
  template <class Visit>
  void for_each_block(const EventView& events, Visit&& visit) const {
    std::vector<StripTracer<form>> block;
    for (int e = 0; e < block_size; ++e) block.emplace_back(setup_);
    for (std::int64_t begin = 0; begin < events.count; begin += block_size) {
      const int n = static_cast<int>(std::min<std::int64_t>(block_size, events.count - begin));
      for (int e = 0; e < n; ++e) block[e].prepare(events, begin + e);
      visit(block, begin, n);
    }
  }

  StripSetup setup_;
};

std::unique_ptr<const CpuKernel> make_strip_kernel(const StripSetup& setup) {
  switch (setup.settings.form) {
    case StripForm::full:
      return std::make_unique<StripKernel<StripForm::full>>(setup);
    case StripForm::eq7:
      return std::make_unique<StripKernel<StripForm::eq7>>(setup);
    case StripForm::gaussian:
      break;
  }
  return std::make_unique<StripKernel<StripForm::gaussian>>(setup);
}

TOFSTREAM_LANES_END

#if HWY_ONCE
namespace tofstream {

HWY_EXPORT(make_strip_kernel);

namespace {

/// Around the common CPU projector, whose images here have padding.
class CpuStripProjector final : public Projector {
 public:
  CpuStripProjector(const Grid& grid, const StripSettings& settings)
      : geometry_(settings.geometry),
        projector_(grid, HWY_DYNAMIC_DISPATCH(make_strip_kernel)(StripSetup::make(grid, settings)),
                   grid.voxels() + strip_padding),
        padded_(Buffer<float>::zeros(Memory::host, grid.voxels() + strip_padding)),
        padded_sum_(Buffer<float>::zeros(Memory::host, grid.voxels() + strip_padding)) {}

  const Grid& grid() const override { return projector_.grid(); }
  Backend backend() const override { return Backend::cpu; }

  void forward(const EventView& events, const float* image, float* expectation, Stream stream) override {
    require_strip_events(events);
    pad(image);
    projector_.forward(events, padded_.data(), expectation, stream);
  }
  void back(const EventView& events, const float* values, float* image, Stream stream) override {
    require_strip_events(events);
    projector_.back(events, values, padded_sum_.data(), stream);
    add_sum(image);
  }
  EmTally em_step(const EventView& events, const float* image, float* accumulator, Stream stream) override {
    require_strip_events(events);
    pad(image);
    const EmTally tally = projector_.em_step(events, padded_.data(), padded_sum_.data(), stream);
    add_sum(accumulator);
    return tally;
  }
  std::optional<Image> closed_form_sensitivity() const override { return strip_sensitivity_image(geometry_, grid()); }

 private:
  void pad(const float* image) { std::copy_n(image, grid().voxels(), padded_.data()); }
  void add_sum(float* image) {
    for (std::int64_t v = 0; v < grid().voxels(); ++v) image[v] += padded_sum_[v];
    std::fill_n(padded_sum_.data(), padded_sum_.size(), 0.0f);
  }

  StripGeometry geometry_;
  CpuProjector projector_;
  Buffer<float> padded_, padded_sum_;
};

}  // namespace

std::unique_ptr<Projector> make_strip_cpu(const Grid& grid, const StripSettings& settings) {
  return std::make_unique<CpuStripProjector>(grid, settings);
}

}  // namespace tofstream
#endif
