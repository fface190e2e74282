// Means of patterns of live fractions, and how two of them differ.
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/types/live_pattern.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

std::shared_ptr<const LivePattern> two_modules(float own, float cross) {
  return std::make_shared<const LivePattern>(LivePattern{2, {own, cross, cross, own}});
}

}  // namespace

TEST_CASE("a mean pattern is weighted with exposed time, and null counts as one for all") {
  MeanLivePattern mean;
  CHECK(mean.get() == nullptr);
  mean.add(nullptr, 3);
  CHECK(mean.get() == nullptr);
  mean.add(two_modules(1, 0.5f), 1);
  const auto pattern = mean.get();
  REQUIRE(pattern != nullptr);
  CHECK(pattern->of(0, 1) == approx((3 + 0.5) / 4));
  CHECK(pattern->of(1, 1) == approx(1));
  CHECK(mean.exposed_s() == 4);
  mean.add(nullptr, 4);
  CHECK(mean.get()->of(1, 0) == approx(7.5 / 8));
}

TEST_CASE("of one pattern alone the mean is that pattern itself") {
  const auto one = two_modules(1, 0.8f);
  MeanLivePattern mean;
  mean.add(one, 2);
  mean.add(one, 5);
  mean.add(two_modules(1, 0.1f), 0);  // no time
  CHECK(mean.get() == one);
  MeanLivePattern both;
  both.add(two_modules(1, 0.2f), 7);
  both.add(mean);
  CHECK(both.get()->of(0, 1) == approx(0.5));
}

TEST_CASE("patterns of two scanners have no mean") {
  MeanLivePattern mean;
  mean.add(two_modules(1, 1), 1);
  CHECK_THROWS_WITH(mean.add(std::make_shared<const LivePattern>(LivePattern{1, {1}}), 1),
                    doctest::Contains("of 2 and of 1 modules"));
}

TEST_CASE("the difference of patterns is relative, and of equal ones zero") {
  const auto one = two_modules(1, 0.5f), other = two_modules(1, 0.55f);
  CHECK(rms_difference(other.get(), one.get()) == approx(0.1 * std::sqrt(0.5)).epsilon(1e-5));
  CHECK(rms_difference(one.get(), two_modules(1, 0.5f).get()) == 0);
  CHECK(rms_difference(nullptr, nullptr) == 0);
  CHECK(rms_difference(one.get(), nullptr) == approx(0.5 * std::sqrt(0.5)));
  CHECK(rms_difference(nullptr, one.get()) == approx(std::sqrt(0.5)));
}
// SPDX-License-Identifier: Apache-2.0
