// Random numbers without a state that anybody shares: from a seed and a counter. For host and device.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"

namespace tofstream {

/// A well mixed 64-bit number of a counter (the finaliser of SplitMix64: G. L. Steele, D. Lea and C. H. Flood, OOPSLA
/// 2014).
TOFSTREAM_HOST_DEVICE inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u * (counter + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A sequence for each number of a Monte Carlo history: the same wherever it is drawn.
class CounterRandom {
 public:
  CounterRandom() = default;
  TOFSTREAM_HOST_DEVICE CounterRandom(std::uint64_t seed, std::uint64_t number) : seed_(mixed(seed, number)) {}
  /// Uniform in [0, 1).
  TOFSTREAM_HOST_DEVICE double uniform() { return static_cast<double>(mixed(seed_, counter_++) >> 11) * 0x1p-53; }

 private:
  std::uint64_t seed_ = 0, counter_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
