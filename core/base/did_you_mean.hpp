// A hint for a name that is not known.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

// ", did you mean 'x'?" for the candidate nearest to `name` by edit distance, "" if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
