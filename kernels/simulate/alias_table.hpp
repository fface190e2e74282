// Draws an index with given relative weights in constant time: Vose's form of Walker's alias method
// (IEEE Trans. Softw. Eng. 17, 1991).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/simulate/random.hpp"

namespace tofstream {

class AliasTable {
 public:
  /// Weights not negative, with a positive sum, fewer than 2^32.
  explicit AliasTable(std::span<const double> weights) : slots_(weights.size()) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    std::vector<double> share;
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      share.push_back(weights[i] / sum * static_cast<double>(weights.size()));
      (share[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t low = small.back(), high = large.back();
      small.pop_back();
      slots_[low] = {static_cast<float>(share[low]), high};
      share[high] -= 1 - share[low];
      if (share[high] < 1) {
        large.pop_back();
        small.push_back(high);
      }
    }
    // What is left over is 1 but for rounding.
    for (const auto* rest : {&small, &large})
      for (const std::uint32_t i : *rest) slots_[i] = {1, i};
  }
  std::uint32_t draw(RandomStream& random) const {
    // The 53 bits of one number hold the slot and, after the point, at least 21 bits for the choice.
    const double place = random.uniform() * static_cast<double>(slots_.size());
    const auto slot = static_cast<std::uint32_t>(place);
    return place - slot < static_cast<double>(slots_[slot].share) ? slot : slots_[slot].alias;
  }

 private:
  struct Slot {
    float share = 1;  // 8 bytes a slot, so that large tables stay in cache
    std::uint32_t alias = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
