// The iteration that Cui et al. 2011 time: see iteration.hpp.
#include "kernels/ring/tor/paper/iteration.hpp"

#include "kernels/em/em_update.hpp"

namespace tofstream::tor::paper {

EmTally iterate(const Iteration& it, bool update_on_device, Stream stream) {
  it.accumulator.voxels.clear(stream);
  const EmTally tally =
      it.projector.planned_em_step(it.plan, it.events, it.estimate.voxels.data(), it.accumulator.voxels.data(), stream);
  if (update_on_device) {
    em_update(it.estimate, it.inverse_sensitivity, it.accumulator, 1, stream);
    return tally;
  }
  Image estimate = it.estimate.to(Memory::host, stream);
  const Image inverse = it.inverse_sensitivity.to(Memory::host, stream);
  const Image sum = it.accumulator.to(Memory::host, stream);
  synchronize(stream);
  em_update(estimate, inverse, sum, 1);
  it.estimate = estimate.to(it.estimate.voxels.memory(), stream);
  synchronize(stream);  // the host's copy is read until then
  return tally;
}

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
