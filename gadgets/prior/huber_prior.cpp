// Huber's prior: small differences are smoothed, large ones only as much as they must.
#include "gadgets/prior/neighbour_prior.hpp"

namespace tofstream {
namespace {

struct HuberPriorParams : NeighbourPriorParams {
  double delta = 1;
  static constexpr auto params =
      NeighbourPriorParams::params +
      describe(param<&HuberPriorParams::delta>("delta", positive, required,
                                               "Difference, in the unit of the image, from which on it counts by its "
                                               "amount and no longer by its square"));
  Potential potential() const { return HuberPotential{delta}; }
};
using HuberPrior = NeighbourPriorGadget<HuberPriorParams>;

TOFSTREAM_GADGET(HuberPrior, "huber_prior",
                 "Penalises small differences of neighbours by their square and large ones by their amount");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
