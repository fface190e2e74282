// A quadratic prior: neighbouring voxels are expected to be alike.
#include "gadgets/prior/neighbour_prior.hpp"

namespace tofstream {
namespace {

struct QuadraticPriorParams : NeighbourPriorParams {
  Potential potential() const { return QuadraticPotential{}; }
};
using QuadraticPrior = NeighbourPriorGadget<QuadraticPriorParams>;

TOFSTREAM_GADGET(QuadraticPrior, "quadratic_prior",
                 "Penalises differences d of neighbours by d^2 / 2: smoother images, for an update's input penalty");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
