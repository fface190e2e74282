// A small fast generator for Monte Carlo: xoshiro256++ (Blackman and Vigna, ACM TOMS 47, 2021),
// started by SplitMix64 from a seed and a stream number, so that every block has its own numbers.
#pragma once

#include <bit>
#include <cstdint>

#include <boost/random/normal_distribution.hpp>

namespace tofstream {

class RandomStream {
 public:
  using result_type = std::uint64_t;
  RandomStream(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t mixed = seed;
    split_mix(mixed);
    mixed ^= stream * 0xd1342543de82ef95U;
    for (auto& word : state_) word = split_mix(mixed);
  }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Uniform in [-1, 1).
  double symmetric() { return static_cast<double>((*this)() >> 11) * 0x1p-52 - 1; }
  /// Normal with mean 0 and variance 1: the ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5, 2000).
  double normal() { return boost::random::normal_distribution<double>()(*this); }
  /// Uniform in [0, n), for n below 2^32.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((((*this)() >> 32) * n) >> 32); }

 private:
  static std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_[4];
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
