// How a test compares numbers that rounding or noise makes differ.
#pragma once

#include <doctest/doctest.h>

namespace tofstream {

/// Compares equal to what differs from `value` by less than epsilon (1.2e-5 unless `.epsilon()` says otherwise) of the
/// larger of the two; for a `value` of 0, by less than about epsilon itself. `.scale(s)` adds s to the larger of the
/// two. doctest's own begins with a scale of 1, so that any two numbers far below epsilon compare equal.
template <class Number>
doctest::Approx approx(Number value) {
  const auto number = static_cast<double>(value);
  return doctest::Approx(number).scale(number == 0 ? 1 : 0);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
