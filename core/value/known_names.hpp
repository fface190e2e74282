// What a message says of a name that is not known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/did_you_mean.hpp"

namespace tofstream {

/// ", did you mean 'x'?" for what is near among `candidates`. If nothing is, "; it knows a, b" with the names of
/// `known`, or if those are none or too many for a line, "; " and `elsewhere`, which says where they are.
inline std::string hint_or_names(std::string_view name, const std::vector<std::string>& candidates,
                                 const std::vector<std::string>& known, std::string_view elsewhere = "") {
  constexpr std::size_t most_named = 12;
  const std::string hint = did_you_mean(name, candidates);
  if (!hint.empty()) return hint;
  if (!known.empty() && known.size() <= most_named) return fmt::format("; it knows {}", fmt::join(known, ", "));
  return elsewhere.empty() ? "" : fmt::format("; {}", elsewhere);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
