// The unit of an image of subsets: see subset_quantity.hpp.
#include "gadgets/subset/subset_quantity.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tofstream {

std::shared_ptr<const Quantity> SubsetQuantity::get(double reference_s) {
  const auto& data = data_.get();
  if (!data || (data == from_ && reference_s == made_for_s_)) return data ? made_ : nullptr;
  if (data->reference_s > 0 && data->reference_s != reference_s)
    throw std::runtime_error(
        fmt::format("the corrections' randoms and scatter are for reference_s {:g}, but the subsets are for {}: "
                    "put one reference_s at the pipeline's top",
                    data->reference_s, reference_s > 0 ? fmt::format("{:g}", reference_s) : "the whole scan"));
  auto timed = std::make_shared<Quantity>(*data);
  timed->reference_s = reference_s;
  if (!(reference_s > 0)) {
    timed->unit.clear();
    timed->scale = "the data state no scan time";
  }
  from_ = data;
  made_for_s_ = reference_s;
  return made_ = std::move(timed);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
