// Small functions of numbers that the host and CUDA share: dominant axis, whole numbers, fixed point, sums of logarithms.
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/math/dominant_axis.hpp"
#include "kernels/math/fixed_point.hpp"
#include "kernels/math/log_sum.hpp"
#include "kernels/math/whole.hpp"

namespace tofstream {

TEST_CASE("the dominant axis is the longest, whatever the sign") {
  for (const float sign : {1.0f, -1.0f}) {
    CHECK(dominant_axis<EqualAxes::x_y_z>(Vec3{3 * sign, 1, -2}) == 0);
    CHECK(dominant_axis<EqualAxes::y_z_x>(Vec3{3 * sign, 1, -2}) == 0);
    CHECK(dominant_axis<EqualAxes::x_y_z>(Vec3{1, 3 * sign, -2}) == 1);
    CHECK(dominant_axis<EqualAxes::y_z_x>(Vec3{1, 3 * sign, -2}) == 1);
    CHECK(dominant_axis<EqualAxes::x_y_z>(Vec3d{1, -2, 3.0 * static_cast<double>(sign)}) == 2);
    CHECK(dominant_axis<EqualAxes::y_z_x>(Vec3d{1, -2, 3.0 * static_cast<double>(sign)}) == 2);
  }
}

TEST_CASE("of equal axes the rule's first is taken") {
  struct Case {
    Vec3 direction;
    int x_y_z, y_z_x;
  };
  for (const Case& c : {Case{{1, -1, 1}, 0, 1}, Case{{1, -1, 0}, 0, 1}, Case{{-1, 0, 1}, 0, 2}, Case{{0, 1, -1}, 1, 1},
                        Case{{0, 0, 0}, 0, 1}}) {
    CAPTURE(c.direction.x);
    CAPTURE(c.direction.y);
    CHECK(dominant_axis<EqualAxes::x_y_z>(c.direction) == c.x_y_z);
    CHECK(dominant_axis<EqualAxes::y_z_x>(c.direction) == c.y_z_x);
    CHECK(dominant_axis<EqualAxes::y_z_x>(c.direction.as<double>()) == c.y_z_x);
  }
}

TEST_CASE("a number raised by whole_unit holds the whole number below it, or above it") {
  for (const float x : {-4194303.5f, -2.5f, -2.0f, -0.25f, 0.0f, 0.75f, 1.0f, 2.5f, 4194302.5f}) {
    CAPTURE(x);
    CHECK(whole_of(raised_below(x)) == static_cast<int>(std::floor(x)));
    CHECK(whole_of(raised_above(x)) == static_cast<int>(std::ceil(x)));
    CHECK(raised_below(x) - whole_unit == std::floor(x));
    CHECK(raised_above(x) - whole_unit == std::ceil(x));
  }
}

TEST_CASE("exponents are those of a float's bits, and their mean is the nearest whole number") {
  CHECK(exponent_of(1.0f) == exponent_bias);
  CHECK(exponent_of(-1.99f) == exponent_bias);
  CHECK(exponent_of(2.0f) == exponent_bias + 1);
  CHECK(exponent_of(0.0f) == 0);
  CHECK(exponent_of(FLT_MIN / 2) == 0);
  CHECK(exponent_of(FLT_MAX) == exponents - 2);
  CHECK(exponent_of(std::numeric_limits<float>::infinity()) == exponents - 1);
  CHECK(mean_exponent(3u * 100, 3u) == 100);
  CHECK(mean_exponent(100u + 101u, 2u) == 101);
  CHECK(mean_exponent(std::uint64_t{4000000000u} * 254u, 4000000000u) == 254);
}

TEST_CASE("the bits of a denormal product are the product in fixed point, rounded to nearest") {
  const float unit = std::ldexp(1.0f, denormal_log2);
  CHECK(std::bit_cast<std::int32_t>(unit) == 1);
  CHECK(std::bit_cast<std::int32_t>(std::ldexp(1234.4f, denormal_log2)) == 1234);
  CHECK(std::bit_cast<std::int32_t>(std::ldexp(1234.6f, denormal_log2)) == 1235);
}

TEST_CASE("a sum of logarithms is exact to a double's rounding, for the smallest floats and the largest") {
  for (const float value : {FLT_MIN, 0.37f, 1.0f, 1e9f, FLT_MAX})
    for (const int count : {0, 1, 7, 8, 9, 1000}) {
      CAPTURE(value);
      CAPTURE(count);
      LogSum sum;
      for (int i = 0; i < count; ++i) sum.add(value);
      const double exact = count * std::log(static_cast<double>(value));
      CHECK(sum.count() == static_cast<unsigned>(count));
      CHECK(std::abs(sum.value() - exact) <= 1e-13 * (1 + std::abs(exact)));
    }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
