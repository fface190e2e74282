// Numbers by which streams, runs and journals are told apart.
#pragma once

#include <cstdint>
#include <random>

namespace tofstream {

/// A random number, unique for all practical purposes.
inline std::uint64_t random_identity() {
  std::random_device random;
  return std::uint64_t{random()} << 32U | random();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
