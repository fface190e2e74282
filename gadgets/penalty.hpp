// What a prior tells an update: the contract of the input `penalty` of updates such as osem_update. A prior is a gadget
// that reads the update's estimate, and whose output goes back to the update:
//
//     prior:    {use: quadratic_prior, from: estimate, beta: 1e-8}
//     estimate: {use: osem_update, from: {projected: projected, penalty: prior}}
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "gadgets/payloads.hpp"
#include "kernels/prior/prior.hpp"

namespace tofstream {

/// A penalty U at an estimate.
struct Penalty {
  std::shared_ptr<const Image> of;  // the estimate's image; null for an announcement
  // beta dU/dx in each voxel, in the memory of the image. The unit is the sensitivity's: events of the reference time
  // for each unit of the image.
  std::shared_ptr<const Image> gradient;
  // Gives what else an update may ask of it: the penalty's value, and curvatures. Null where a prior has its gradient
  // alone.
  std::shared_ptr<const Prior> prior = {};
  std::size_t bytes() const { return gradient ? gradient->bytes() : 0; }
};

template <>
struct PayloadName<Penalty> {
  static constexpr auto value = "penalty";
};

/// What a prior takes. It answers every estimate, even an announcement, so that the update finds a penalty for each
/// back projection.
struct PriorInput {
  std::shared_ptr<const Estimate> estimate;
  static constexpr bool takes_announcements = true;
  static constexpr auto inputs = ports(port<&PriorInput::estimate>("estimate"));
};

/// The penalty on an estimate; `prior_for(image)` gives the prior, which may depend on the image's grid and memory.
template <class PriorFor>
Penalty penalty_on(const Estimate& estimate, const PriorFor& prior_for) {
  if (estimate.is_announcement()) return {};
  std::shared_ptr<const Prior> prior = prior_for(*estimate.image);
  return {estimate.image, std::make_shared<const Image>(prior->gradient(*estimate.image)), std::move(prior)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
