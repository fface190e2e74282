// Asks Highway, and limits it: see instruction_set.hpp.
#include "kernels/math/instruction_set.hpp"

#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/math/simd_targets.hpp"
// clang-format off: the targets come first
#include <hwy/highway.h>
// clang-format on

namespace tofstream {

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void limit_instruction_set(const std::string& name) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    if (hwy::TargetName(target) == name) return hwy::DisableTargets(target - 1);  // better ones have lower bits
  throw std::invalid_argument(
      fmt::format("this processor's instruction sets are {}, not {}", fmt::join(instruction_sets(), ", "), name));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
