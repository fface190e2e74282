// Where a run goes: see placement.hpp.
#include "tools/serve/placement.hpp"

#include <tuple>

namespace tofstream::serve {

namespace {

double share(std::size_t part, std::size_t of) {
  return static_cast<double>(part) / static_cast<double>(of > 0 ? of : 1);
}

}  // namespace

bool has_room(const Place& place, const Need& need) {
  return place.takes() && place.waiting == 0 && place.running < place.at_once && need.memory <= place.memory_free &&
         (place.gpu_bytes == 0 || need.gpu <= place.gpu_free);
}

std::optional<std::size_t> choose_place(std::span<const Place> places, const Need& need,
                                        const std::function<bool(std::size_t)>& open) {
  const auto rank = [&](std::size_t k) {  // the smallest is the best
    const Place& place = places[k];
    const bool waits = !has_room(place, need);
    return std::tuple(waits, share(waits ? place.waiting : place.running, place.at_once),
                      -static_cast<double>(place.gpu_free), -static_cast<double>(place.memory_free));
  };
  std::optional<std::size_t> best;
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k].takes() && open(k) && (!best || rank(k) < rank(*best))) best = k;
  return best;
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
