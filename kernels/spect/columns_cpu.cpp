// Columns in the CPU's vectors: see columns.hpp. Compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spect/columns_cpu.cpp"
// clang-format off: this line compiles the file for each instruction set, so it comes first
#include "kernels/math/simd_targets.hpp"
// clang-format on

#include <hwy/highway.h>

#include "kernels/math/lanes-inl.hpp"
#include "kernels/spect/columns.hpp"

TOFSTREAM_LANES_BEGIN

namespace spect_columns {

constexpr FloatTag lanes;

/// Calls visit(first row) for whole vectors of a column.
template <class Visit>
HWY_INLINE void for_each_vector(std::int64_t length, Visit&& visit) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
  for (std::int64_t i = 0; i < length; i += step) visit(i);
}

void gather(std::span<const ColumnTap> taps, const float* image, std::int64_t stride, std::int64_t length, float* out) {
  if (taps.size() == 4) {
    const float* const a = image + taps[0].column * stride;
    const float* const b = image + taps[1].column * stride;
    const float* const c = image + taps[2].column * stride;
    const float* const d = image + taps[3].column * stride;
    const auto wa = hn::Set(lanes, taps[0].weight), wb = hn::Set(lanes, taps[1].weight);
    const auto wc = hn::Set(lanes, taps[2].weight), wd = hn::Set(lanes, taps[3].weight);
    for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
      auto sum = hn::Mul(wa, hn::LoadU(lanes, a + i));
      sum = hn::MulAdd(wb, hn::LoadU(lanes, b + i), sum);
      sum = hn::MulAdd(wc, hn::LoadU(lanes, c + i), sum);
      hn::StoreU(hn::MulAdd(wd, hn::LoadU(lanes, d + i), sum), lanes, out + i);
    });
    return;
  }
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    auto sum = hn::Zero(lanes);
    for (const ColumnTap& tap : taps)
      sum = hn::MulAdd(hn::Set(lanes, tap.weight), hn::LoadU(lanes, image + tap.column * stride + i), sum);
    hn::StoreU(sum, lanes, out + i);
  });
}

void add_scaled(const float* in, float weight, std::int64_t length, float* out) {
  const auto w = hn::Set(lanes, weight);
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(w, hn::LoadU(lanes, in + i), hn::LoadU(lanes, out + i)), lanes, out + i);
  });
}

void scatter(std::span<const ColumnTap> taps, const float* in, std::int64_t stride, std::int64_t length, float* image) {
  for (const ColumnTap& tap : taps) add_scaled(in, tap.weight, length, image + tap.column * stride);
}

void blur_along(const float* in, const float* weights, int reach, std::int64_t length, float* out) {
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::Set(lanes, weights[0]), hn::LoadU(lanes, in + i));
    for (int j = 1; j <= reach; ++j) {
      const auto both = hn::Add(hn::LoadU(lanes, in + i - j), hn::LoadU(lanes, in + i + j));
      sum = hn::MulAdd(hn::Set(lanes, weights[j]), both, sum);
    }
    hn::StoreU(sum, lanes, out + i);
  });
}

void blur_across(const float* in, std::int64_t stride, const float* weights, int reach, std::int64_t length, bool add,
                 float* out) {
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::Set(lanes, weights[0]), hn::LoadU(lanes, in + i));
    for (int j = 1; j <= reach; ++j) {
      const auto both = hn::Add(hn::LoadU(lanes, in + i - j * stride), hn::LoadU(lanes, in + i + j * stride));
      sum = hn::MulAdd(hn::Set(lanes, weights[j]), both, sum);
    }
    if (add) sum = hn::Add(sum, hn::LoadU(lanes, out + i));
    hn::StoreU(sum, lanes, out + i);
  });
}

void convolve(const float* in, const float* weights, int across, int reach, std::int64_t length, float* out) {
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    auto sum = hn::LoadU(lanes, out + i);
    for (int j = 0; j <= 2 * reach; ++j)
      sum = hn::MulAdd(hn::Set(lanes, weights[j * across]), hn::LoadU(lanes, in + i + reach - j), sum);
    hn::StoreU(sum, lanes, out + i);
  });
}

void attenuate(const float* mu, const float* steps, std::int64_t length, float* before, float* factor) {
  const auto half = hn::Set(lanes, 0.5f), log2_e = hn::Set(lanes, -1.44269504f), least = hn::Set(lanes, -120.0f);
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    const auto here = hn::LoadU(lanes, mu + i), sum = hn::LoadU(lanes, before + i);
    const auto path = hn::Mul(hn::LoadU(lanes, steps + i), hn::MulAdd(half, here, sum));
    hn::StoreU(power_of_two(hn::Max(hn::Mul(log2_e, path), least)), lanes, factor + i);
    hn::StoreU(hn::Add(sum, here), lanes, before + i);
  });
}

void multiply(const float* factor, std::int64_t length, float* inout) {
  for_each_vector(length, [&](std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(lanes, factor + i), hn::LoadU(lanes, inout + i)), lanes, inout + i);
  });
}

}  // namespace spect_columns

const ColumnMath* column_math_of_target() {
  using namespace spect_columns;
  static constexpr ColumnMath math = {gather,   scatter,    blur_along, blur_across,
                                      convolve, add_scaled, attenuate,  multiply};
  return &math;
}

TOFSTREAM_LANES_END

#if HWY_ONCE
namespace tofstream {

HWY_EXPORT(column_math_of_target);

const ColumnMath& column_math() {
  return *HWY_DYNAMIC_DISPATCH(column_math_of_target)();
}

}  // namespace tofstream
#endif
// SPDX-License-Identifier: Apache-2.0
