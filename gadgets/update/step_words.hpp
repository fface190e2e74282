// How messages name an update.
#pragma once

#include <string>

#include <fmt/format.h>

#include "gadgets/payloads.hpp"

namespace tofstream {

/// "iteration 2 of 4, update 17", behind "frame 3, " or "gate 3, " where it is of one
inline std::string in_words(const UpdateStep& step) {
  const std::string part =
      step.frame.number > 0 ? fmt::format("{} {}, ", step.gate > 0 ? "gate" : "frame", step.frame.number) : "";
  return fmt::format("{}iteration {} of {}, update {}", part, step.iteration, step.iterations, step.update);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
