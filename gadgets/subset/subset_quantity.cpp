// The unit of an image of subsets: see subset_quantity.hpp.
#include "gadgets/subset/subset_quantity.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

std::shared_ptr<const Quantity> SubsetQuantity::get(double reference_s) {
  const auto& events = events_.get();
  if (!events || (events == from_ && reference_s == made_for_s_)) return events ? made_ : nullptr;
  if (events->reference_s > 0 && events->reference_s != reference_s)
    throw std::runtime_error(
        fmt::format("event_corrections computed randoms and scatter for reference_s {:g}, but the subsets are for {}: "
                    "put one reference_s at the pipeline's top",
                    events->reference_s, reference_s > 0 ? fmt::format("{:g}", reference_s) : "the whole scan"));
  auto timed = std::make_shared<Quantity>(*events);
  timed->reference_s = reference_s;
  if (!(reference_s > 0)) {
    timed->unit.clear();
    timed->scale = "the events state no scan time";
  }
  from_ = events;
  made_for_s_ = reference_s;
  return made_ = std::move(timed);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
