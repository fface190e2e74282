// An order of n things in which every stretch is spread evenly over all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tofstream {

/// A step through n things, round and round, that visits each once: close to the golden section of n, and prime to it.
inline std::size_t even_step(std::size_t n) {
  constexpr double golden = 0.6180339887498949;
  std::size_t step = std::max<std::size_t>(1, static_cast<std::size_t>(golden * static_cast<double>(n)));
  while (std::gcd(step, n) != 1) ++step;
  return step;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
