// A subset that ranks project together, and what of it is whose part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gadgets/additive.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/step/dealing.hpp"
#include "kernels/project/data_feed.hpp"
#include "kernels/types/parts.hpp"

namespace tofstream {

/// A subset and an estimate meet.
template <class Data>
struct SubsetPass {
  const Subset<Data>& subset;
  const Image& estimate;
  const Additive<Data>* additive;  // null where nothing gives terms
  // Gives the estimate's image on the host, for other processes.
  std::function<std::shared_ptr<const Image>()> on_host;
};

/// What a part, which is dealt so, has of each batch of a subset, or of the one that follows: their data are cut as one
/// list, so that a part has few batches, most of them whole.
template <class Data>
std::vector<Range> ranges_of_part(const Dealing& dealing, int part,
                                  const std::vector<std::shared_ptr<const Data>>& batches) {
  std::vector<Range> ranges;
  if constexpr (Divisible<Data>) {
    std::int64_t all = 0;
    for (const auto& batch : batches) all += range_size(*batch);
    const std::int64_t first = dealing.first(part, all), end = dealing.first(part + 1, all);
    std::int64_t begin = 0;
    for (const auto& batch : batches) {
      const std::int64_t size = range_size(*batch), from = std::clamp<std::int64_t>(first - begin, 0, size);
      ranges.push_back({from, std::clamp<std::int64_t>(end - begin, 0, size) - from});
      begin += size;
    }
  } else {
    ranges.resize(batches.size());
  }
  return ranges;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
