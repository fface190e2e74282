// The strip projector on the CPU: per event the columns of its ellipse (contiguous in memory, and taller than its rows
// are wide), a pixel a lane; lanes over columns prepare them. Compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strip/strip_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <algorithm>
#include <cstring>

#include <hwy/highway.h>

#include "kernels/project/cpu_kernel-inl.hpp"
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
  std::vector<float> low, high;

  static StripSetup make(const Grid& grid, const StripSettings& settings) {
    StripSetup setup{grid, settings, {}, {}};
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

/// Numbers of each column of an event's box.
struct StripColumns {
  explicit StripColumns(int columns) {
    const std::int64_t size = columns + strip_padding;
    for (auto* numbers : {&squared0, &squared1, &mixed0, &mixed1, &norm0, &norm1})
      *numbers = Buffer<float>(Memory::host, size);
    first = Buffer<std::int32_t>(Memory::host, size);
    last = Buffer<std::int32_t>(Memory::host, size);
  }
  Buffer<float> squared0, squared1, mixed0, mixed1, norm0, norm1;
  Buffer<std::int32_t> first, last;  // pixels of the chord
};

/// The weights of one event: a vector's worth of them at each offset of the image.
struct StripWeights {
  StripWeights(const Grid& grid, std::int64_t lanes) {
    const std::int64_t vectors = (grid.size[1] / lanes + 2) * grid.size[2];
    offsets = Buffer<std::int32_t>(Memory::host, vectors);
    weights = Buffer<float>(Memory::host, vectors * lanes);
  }
  Buffer<std::int32_t> offsets;
  Buffer<float> weights;
  std::int64_t vectors = 0;
};

}  // namespace tofstream
#endif

TOFSTREAM_LANES_BEGIN

template <StripForm form>
class StripTracer {
 public:
  StripTracer(const StripSetup& setup, const EventView& events)
      : setup_(setup), events_(events), columns_(setup.grid.size[2]), kept_(setup.grid, lanes) {}

  void trace(std::int64_t i) {
    kept_.vectors = 0;
    const auto event = StripEventTerms<float>::make(form, setup_.settings.geometry, setup_.settings.resolution,
                                                    strip_response<float>(events_, i));
    const StripBox box = strip_box(event, setup_.grid);
    if (box.z_first > box.z_last || box.y_first > box.y_last) return;
    prepare_columns(event, box);
    evaluate(event, box);
  }

  float gather(const float* image) const {
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for (std::int64_t v = 0; v < kept_.vectors; ++v)
      sum = mul_add(hn::LoadU(d_, weights_of(v)), hn::LoadU(d_, image + kept_.offsets[v]), sum);
    return sum_of_lanes(sum);
  }

  void scatter(float value, float* image) const {
    const FloatLanes values = splat<FloatLanes>(value);
    for (std::int64_t v = 0; v < kept_.vectors; ++v) {
      float* const pixels = image + kept_.offsets[v];
      hn::StoreU(mul_add(hn::LoadU(d_, weights_of(v)), values, hn::LoadU(d_, pixels)), d_, pixels);
    }
  }

 private:
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));

  const float* weights_of(std::int64_t vector) const { return kept_.weights.data() + vector * lanes; }

  /// The pixels that each column of the box has of the ellipse, and the column's polynomials.
  HWY_INLINE void prepare_columns(const StripEventTerms<float>& event, const StripBox& box) {
    const Grid& grid = setup_.grid;
    const float per_y = 1 / grid.voxel_mm.y, steepness = event.along + event.across * event.tan * event.tan;
    const FloatLanes y = splat<FloatLanes>((event.y - grid.origin_mm.y) * per_y);
    const FloatLanes middle_slope = splat<FloatLanes>(event.across * event.tan / steepness * per_y);
    const FloatLanes squared_half = splat<FloatLanes>(strip_cut / steepness * per_y * per_y);
    const float narrowing = event.across * event.along / steepness / steepness * per_y * per_y;
    const FloatLanes slack = splat<FloatLanes>(1e-3f), size = splat<FloatLanes>(static_cast<float>(grid.size[1]));
    const FloatLanes zero = splat<FloatLanes>(0.0f), one = splat<FloatLanes>(1.0f);
    const IndexTag index;
    const float first_dz = grid.origin_mm.z - event.z;
    for (int k = box.z_first; k <= box.z_last; k += lanes) {
      const FloatLanes dz = mul_add(lane_index<FloatLanes>() + splat<FloatLanes>(static_cast<float>(k)),
                                    splat<FloatLanes>(grid.voxel_mm.z), splat<FloatLanes>(first_dz));
      const FloatLanes middle = mul_add(middle_slope, dz, y);
      const FloatLanes half = square_root(maximum(squared_half - splat<FloatLanes>(narrowing) * dz * dz, zero)) + slack;
      const FloatLanes before = round_down(middle - half);  // may itself be no pixel of the chord
      const FloatLanes first = minimum(maximum(before, zero), size),
                       last = minimum(round_down(middle + half), size - one);
      const int at = k - box.z_first;
      hn::StoreU(hn::ConvertTo(index, first), index, columns_.first.data() + at);
      hn::StoreU(hn::ConvertTo(index, maximum(last, zero - one)), index, columns_.last.data() + at);
      const StripColumn<FloatLanes> column = strip_column<form>(event, dz);
      hn::StoreU(column.squared0, d_, columns_.squared0.data() + at);
      hn::StoreU(column.squared1, d_, columns_.squared1.data() + at);
      if constexpr (form != StripForm::gaussian) {
        hn::StoreU(column.mixed0, d_, columns_.mixed0.data() + at);
        hn::StoreU(column.mixed1, d_, columns_.mixed1.data() + at);
        hn::StoreU(column.norm0, d_, columns_.norm0.data() + at);
        hn::StoreU(column.norm1, d_, columns_.norm1.data() + at);
      }
    }
  }

  HWY_INLINE void evaluate(const StripEventTerms<float>& event, const StripBox& box) {
    const Grid& grid = setup_.grid;
    const int rows = grid.size[1];
    const float step = grid.voxel_mm.y, first_dy = grid.origin_mm.y - event.y;
    const FloatLanes lane_dy = lane_index<FloatLanes>() * splat<FloatLanes>(step);
    StripColumn<float> column = strip_column<form>(event, 0.0f);  // what the columns share is of any of them
    std::int64_t vectors = 0;
    for (int k = box.z_first; k <= box.z_last; ++k) {
      const int at = k - box.z_first;
      column.squared0 = columns_.squared0[at];
      column.squared1 = columns_.squared1[at];
      if constexpr (form != StripForm::gaussian) {
        column.mixed0 = columns_.mixed0[at];
        column.mixed1 = columns_.mixed1[at];
        column.norm0 = columns_.norm0[at];
        column.norm1 = columns_.norm1[at];
      }
      const int last = columns_.last[at];
      for (int j = columns_.first[at]; j <= last; j += lanes) {
        const FloatLanes dy = lane_dy + splat<FloatLanes>(first_dy + static_cast<float>(j) * step);
        const std::int64_t offset = grid.index(0, j, k);
        FloatLanes weight = strip_density<form>(event, column.template at<form>(dy), angles_at(offset));
        if (j + lanes > rows)  // the next column's pixels are not this one's
          weight = select(less(lane_index<FloatLanes>(), splat<FloatLanes>(static_cast<float>(rows - j))), weight,
                          splat<FloatLanes>(0.0f));
        hn::StoreU(weight, d_, kept_.weights.data() + vectors * lanes);
        kept_.offsets[vectors++] = static_cast<std::int32_t>(offset);
      }
    }
    kept_.vectors = vectors;
  }

  HWY_INLINE StripAngles<FloatLanes> angles_at(std::int64_t offset) const {
    if constexpr (form == StripForm::full)
      return {hn::LoadU(d_, setup_.low.data() + offset), hn::LoadU(d_, setup_.high.data() + offset)};
    return {};
  }

  const FloatTag d_;
  const StripSetup& setup_;
  const EventView& events_;
  StripColumns columns_;
  StripWeights kept_;
};

std::unique_ptr<const CpuKernel> make_strip_kernel(const StripSetup& setup) {
  switch (setup.settings.form) {
    case StripForm::full:
      return std::make_unique<TracingKernel<StripTracer<StripForm::full>, StripSetup>>(setup);
    case StripForm::eq7:
      return std::make_unique<TracingKernel<StripTracer<StripForm::eq7>, StripSetup>>(setup);
    case StripForm::gaussian:
      break;
  }
  return std::make_unique<TracingKernel<StripTracer<StripForm::gaussian>, StripSetup>>(setup);
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
