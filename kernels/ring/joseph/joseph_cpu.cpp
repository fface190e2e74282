// Joseph's projector on the CPU: lanes over the planes of one event for the weights, then two
// 8-byte loads (and stores) a plane for its four voxels. Compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ring/joseph/joseph_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <algorithm>

#include <hwy/highway.h>

#include "kernels/project/cpu_kernel-inl.hpp"
#include "kernels/ring/joseph/joseph_backends.hpp"
#include "kernels/ring/joseph/joseph_line-inl.hpp"

#ifndef TOFSTREAM_JOSEPH_CPU_ONCE
#define TOFSTREAM_JOSEPH_CPU_ONCE
namespace tofstream {

/// Crossings of one event, for the longest line of a grid: offsets of the first voxel in the image
/// and four weights each.
class CrossingStore {
 public:
  explicit CrossingStore(const Grid& grid)
      : capacity_(std::max({grid.size[0], grid.size[1], grid.size[2]}) + 16),
        offsets_(Memory::host, capacity_),
        weights_(Memory::host, 4 * capacity_) {}
  std::int32_t* offset(int plane) { return offsets_.data() + plane; }
  float* weight(int plane) { return weights_.data() + 4 * plane; }

 private:
  std::int64_t capacity_;
  Buffer<std::int32_t> offsets_;
  Buffer<float> weights_;
};

}  // namespace tofstream
#endif

TOFSTREAM_LANES_BEGIN

/// Stores the four vectors so that lane i's numbers come to lie in to[4 * i + 0 .. 3].
HWY_INLINE void store_by_lane(const FloatLanes (&vectors)[4], float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (int k = 0; k < 4; ++k) hn::StoreU(vectors[k], FloatTag(), to + k);
#else
  hn::StoreInterleaved4(vectors[0], vectors[1], vectors[2], vectors[3], FloatTag(), to);
#endif
}

class JosephTracer {
 public:
  JosephTracer(const JosephSetup& setup, const EventView& events)
      : lines_(JosephLines::make(setup, events)), store_(setup.grid) {}

  void trace(std::int64_t i) {
    constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));
    const JosephLine line = prepare_line<FloatLanes>(lines_, i, lanes);
    count_ = line.last - line.first + 1;
    if (count_ <= 0) return;
    const Grid& grid = lines_.setup.grid;
    const auto stride = [&](int axis) { return static_cast<std::int32_t>(grid.stride(axis)); };
    u_stride_ = grid.size[line.u_axis] > 1 ? stride(line.u_axis) : 0;
    v_stride_ = grid.size[line.v_axis] > 1 ? stride(line.v_axis) : 0;

    const IndexTag index_tag;
    const auto u_strides = hn::Set(index_tag, u_stride_), v_strides = hn::Set(index_tag, v_stride_);
    const auto ramp = hn::Mul(hn::Iota(index_tag, 0), hn::Set(index_tag, stride(line.axis)));
    for (int begin = 0; begin < count_; begin += JosephBlock::planes) {
      const JosephBlock block = JosephBlock::make(grid, line, line.first + begin);
      const int end = std::min(begin + JosephBlock::planes, count_);
      for (int plane = begin; plane < end; plane += lanes) {
        const auto crossing = cross<FloatLanes>(line, block, hn::Iota(FloatTag(), static_cast<float>(plane - begin)));
        // Lanes beyond the last plane may overflow here; nothing reads them.
        auto offset = hn::Add(ramp, hn::Set(index_tag, (line.first + plane) * stride(line.axis)));
        offset = hn::Add(offset, hn::Mul(hn::ConvertTo(index_tag, crossing.u), u_strides));
        offset = hn::Add(offset, hn::Mul(hn::ConvertTo(index_tag, crossing.v), v_strides));
        hn::StoreU(offset, index_tag, store_.offset(plane));
        store_by_lane(crossing.weight, store_.weight(plane));
      }
    }
  }

  float gather(const float* image) {
    if (count_ <= 0) return 0;
#if HWY_TARGET != HWY_SCALAR
    if (u_stride_ == 1) {
      auto sum = hn::Zero(Four());
      for (int plane = 0; plane < count_; ++plane) {
        const float* voxel = image + *store_.offset(plane);
        const auto voxels = hn::Combine(Four(), hn::LoadU(Two(), voxel + v_stride_), hn::LoadU(Two(), voxel));
        sum = hn::MulAdd(hn::LoadU(Four(), store_.weight(plane)), voxels, sum);
      }
      return sum_of_lanes(sum);
    }
#endif
    float sums[4] = {};
    for (int plane = 0; plane < count_; ++plane) {
      const float* voxel = image + *store_.offset(plane);
      const float* weight = store_.weight(plane);
      sums[0] += weight[0] * voxel[0];
      sums[1] += weight[1] * voxel[u_stride_];
      sums[2] += weight[2] * voxel[v_stride_];
      sums[3] += weight[3] * voxel[u_stride_ + v_stride_];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void scatter(float value, float* image) {
#if HWY_TARGET != HWY_SCALAR
    // With one voxel along v both rows are the same row: its zero weights must then be added last.
    if (u_stride_ == 1 && v_stride_ != 0) {
      const auto values = hn::Set(Four(), value);
      for (int plane = 0; plane < count_; ++plane) {
        float* near_row = image + *store_.offset(plane);
        float* far_row = near_row + v_stride_;
        const auto voxels = hn::Combine(Four(), hn::LoadU(Two(), far_row), hn::LoadU(Two(), near_row));
        const auto sum = hn::MulAdd(hn::LoadU(Four(), store_.weight(plane)), values, voxels);
        hn::StoreU(hn::LowerHalf(Two(), sum), Two(), near_row);
        hn::StoreU(hn::UpperHalf(Two(), sum), Two(), far_row);
      }
      return;
    }
#endif
    for (int plane = 0; plane < count_; ++plane) {
      float* voxel = image + *store_.offset(plane);
      const float* weight = store_.weight(plane);
      voxel[0] += weight[0] * value;
      voxel[u_stride_] += weight[1] * value;
      voxel[v_stride_] += weight[2] * value;
      voxel[u_stride_ + v_stride_] += weight[3] * value;
    }
  }

 private:
#if HWY_TARGET != HWY_SCALAR
  using Four = hn::FixedTag<float, 4>;
  using Two = hn::FixedTag<float, 2>;
#endif

  const JosephLines lines_;
  CrossingStore store_;
  int count_ = 0;  // planes of the traced event
  std::int32_t u_stride_ = 0, v_stride_ = 0;
};

std::unique_ptr<const CpuKernel> make_joseph_kernel(const Grid& grid, const JosephSettings& settings) {
  return std::make_unique<TracingKernel<JosephTracer, JosephSetup>>(JosephSetup::make(grid, settings));
}

TOFSTREAM_LANES_END

#if HWY_ONCE
namespace tofstream {

HWY_EXPORT(make_joseph_kernel);

std::unique_ptr<const CpuKernel> make_joseph_cpu_kernel(const Grid& grid, const JosephSettings& settings) {
  return HWY_DYNAMIC_DISPATCH(make_joseph_kernel)(grid, settings);
}

}  // namespace tofstream
#endif
// SPDX-License-Identifier: Apache-2.0
