// The relative difference prior (Nuyts et al. 2002): what counts is a difference relative to the voxels themselves.
#include "gadgets/prior/neighbour_prior.hpp"

namespace tofstream {
namespace {

struct RelativeDifferencePriorParams : NeighbourPriorParams {
  double gamma = 2;
  double epsilon = 0;
  static constexpr auto params =
      NeighbourPriorParams::params +
      describe(param<&RelativeDifferencePriorParams::gamma>(
                   "gamma", range(0, 1e6),
                   "Keeps edges: a difference well above 1 / gamma of the two voxels' sum counts by its amount"),
               param<&RelativeDifferencePriorParams::epsilon>(
                   "epsilon", range(0, 1e30),
                   "Added to the sum of the two voxels, in the unit of the image, so that the penalty is smooth where "
                   "both are 0: a thousandth of a typical value, say"));
  Potential potential() const { return RelativeDifferencePotential{gamma, epsilon}; }
};
using RelativeDifferencePrior = NeighbourPriorGadget<RelativeDifferencePriorParams>;

TOFSTREAM_GADGET(RelativeDifferencePrior, "relative_difference_prior",
                 "Penalises differences d of neighbours a, b by d^2 / (a + b + gamma |d| + epsilon)");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
