// The prior of Green 1990: as Huber's, without a joint.
#include "gadgets/prior/neighbour_prior.hpp"

namespace tofstream {
namespace {

struct LogCoshPriorParams : NeighbourPriorParams {
  double scale = 1;
  static constexpr auto params =
      NeighbourPriorParams::params + describe(param<&LogCoshPriorParams::scale>(
                                         "scale", positive, required,
                                         "s of log(cosh(s d)) / s^2, the inverse of the difference at which the "
                                         "square goes over into the amount"));
  Potential potential() const { return LogCoshPotential{scale}; }
};
using LogCoshPrior = NeighbourPriorGadget<LogCoshPriorParams>;

TOFSTREAM_GADGET(LogCoshPrior, "log_cosh_prior", "Penalises differences d of neighbours by log(cosh(s d)) / s^2");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
