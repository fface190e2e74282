// Joseph's projector on CUDA with tiles of the image in shared memory: the same lines and weights as
// joseph_line-inl.hpp has, walked a visit at a time (project/tiled/visit_plan.hpp). joseph_plan.cu makes the visits.
#include "kernels/math/whole.hpp"
#include "kernels/project/tiled/tiled_projector.cuh"
#include "kernels/ring/joseph/joseph_family.cuh"

namespace tofstream {

namespace {

using single_lane::JosephLines;
using single_lane::TofBin;
using tiled::AxisTiles;
using tiled::Visit;

enum class Tof { none, narrow, any };

/// The ToF response at a plane times Add::factor(); it lacks the factor JosephFootprint::unit(). All events of a batch
/// share the bin.
template <Tof tof>
struct TofWeight;

template <>
struct TofWeight<Tof::none> {
  explicit TofWeight(const TofBin&) {}
  template <class Add>
  __device__ float at(float) const {
    return Add::factor();
  }
  static float largest() { return 1; }
};

template <>
struct TofWeight<Tof::any> {
  TofBin bin;
  explicit TofWeight(const TofBin& b) : bin(b) {}
  template <class Add>
  __device__ float at(float z) const {
    return single_lane::bin_integral(bin, z) * Add::factor();
  }
  float largest() const { return single_lane::bin_integral(bin, 0.0f); }
};

/// A bin so narrow that its integral is a Gaussian again: in bin_integral's series, 1 + h^2 (m^2 - 1) / 6 is
/// exp(h^2 (m^2 - 1) / 6) to better than 6e-6 up to half a width h of 0.05 sigma and m of 3. At the cut the bin is
/// covered in part.
template <>
struct TofWeight<Tof::narrow> {
  static constexpr float widest = 0.05f;
  float root, half, cover_rate, cover_start, peak;

  explicit TofWeight(const TofBin& bin) {
    const float h = bin.half_width, log2e = 1.44269504f;
    root = std::sqrt(0.5f * log2e * (1 - h * h / 3));
    half = root * h;
    cover_rate = -0.5f / half;
    cover_start = 0.5f * (bin.cut + h) / h;
    peak = 2 * bin.peak * h * std::exp(-h * h / 6);
  }
  /// The weight without its peak.
  template <class Add>
  __device__ float at(float z) const {
    const float distance = fabsf(z * root);
    const float covered = __saturatef(fmaf(distance, cover_rate, cover_start));
    const float middle = fmaf(covered, half, distance - half);
    return covered * tiled::fast_exp2(fmaf(-middle, middle, static_cast<float>(Add::factor_log2)));
  }
  float largest() const { return peak; }
};

/// Where a line crosses a plane of a tile: the word of the nearest of four voxels, and the fractions of the farther
/// ones.
struct TileCrossing {
  std::uint32_t word;
  float u, v;

  __device__ TileCrossing(std::uint32_t row_stride, const Visit& visit, float plane) {
    const float u_place = fmaf(plane, visit.du, visit.u), v_place = fmaf(plane, visit.dv, visit.v);
    const float u_whole = raised_below(u_place), v_whole = raised_below(v_place);
    u = u_place - (u_whole - whole_unit);
    v = v_place - (v_whole - whole_unit);
    word = __float_as_uint(v_whole) * row_stride + __float_as_uint(u_whole);
  }
  /// How much `word` exceeds the word by.
  __device__ static std::uint32_t excess(std::uint32_t row_stride) { return whole_unit_bits * (row_stride + 1); }
};

template <Tof tof>
struct JosephFootprint {
  TofWeight<tof> tof_weight;
  float largest;
  static constexpr bool short_visits = true;
  static constexpr int threads = 1024;

  explicit JosephFootprint(const TofBin& bin) : tof_weight(bin), largest(tof_weight.largest()) {}

  /// The largest of the weights that forward and back use, which lack the factor unit().
  float largest_weight() const { return tof == Tof::any ? largest : 1.0f; }
  float unit() const { return tof == Tof::narrow ? largest : 1.0f; }

  __device__ float forward(const float* tile, const AxisTiles& axis, const Visit& visit) const {
    const auto row = static_cast<std::uint32_t>(axis.row_stride),
               planes = static_cast<std::uint32_t>(axis.plane_stride);
    std::uint32_t base = static_cast<std::uint32_t>(visit.first()) * planes - TileCrossing::excess(row);
    const auto count = static_cast<float>(visit.count());
    float sum = 0;
#pragma unroll 2
    for (float plane = 0; plane < count; plane += 1) {
      const TileCrossing at(row, visit, plane);
      const float* near = tile + (base + at.word);
      const float* far = near + row;
      const float low = fmaf(near[1] - near[0], at.u, near[0]);
      const float high = fmaf(far[1] - far[0], at.u, far[0]);
      sum = fmaf(tof_weight.template at<tiled::Unscaled>(fmaf(plane, visit.dz, visit.z)), fmaf(high - low, at.v, low),
                 sum);
      base += planes;
    }
    return sum;
  }

  template <class Add>
  __device__ void back(const AxisTiles& axis, const Visit& visit, float value, const Add& add) const {
    const auto row = static_cast<std::uint32_t>(axis.row_stride),
               planes = static_cast<std::uint32_t>(axis.plane_stride);
    std::uint32_t base = static_cast<std::uint32_t>(visit.first()) * planes - TileCrossing::excess(row);
    const auto count = static_cast<float>(visit.count());
#pragma unroll 2
    for (float plane = 0; plane < count; plane += 1) {
      const TileCrossing at(row, visit, plane);
      const float all = value * tof_weight.template at<Add>(fmaf(plane, visit.dz, visit.z));
      const float high = all * at.v, low = all - high;
      const float low_far = low * at.u, high_far = high * at.u;
      const std::uint32_t word = base + at.word;
      add(word, low - low_far);
      add(word + 1, low_far);
      add(word + row, high - high_far);
      add(word + row + 1, high_far);
      base += planes;
    }
  }
};

}  // namespace

template <class Step>
void JosephFamily::with_footprint(const EventView& events, Stream, const Step& step) const {
  const JosephLines lines = JosephLines::make(setup_, events);
  const TofBin bin = events.has_tof() ? TofBin::make(lines.tof, events.bin_width_mm(0)) : TofBin{};
  if (!events.has_tof()) {
    step(JosephFootprint<Tof::none>(bin));
  } else if (bin.half_width <= TofWeight<Tof::narrow>::widest) {
    step(JosephFootprint<Tof::narrow>(bin));
  } else {
    step(JosephFootprint<Tof::any>(bin));
  }
}

std::unique_ptr<ListModeProjector> make_joseph_cuda(const Grid& grid, const JosephSettings& settings) {
  return std::make_unique<tiled::TiledProjector<JosephFamily>>(settings.cuda_path, settings.deterministic, grid,
                                                               settings);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
