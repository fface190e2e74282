// A prior's sums on a CUDA device. Internal to the priors.
#pragma once

#include "kernels/memory/memory.hpp"
#include "kernels/prior/neighbour_arrays.hpp"
#include "kernels/prior/total_variation_arrays.hpp"

namespace tofstream::detail {

enum class PriorPart { gradient, hessian_diagonal, majorant_curvature };

/// use(Slope{}), use(Curvature{}) or use(Majorant{})
template <class Use>
void with_part(PriorPart part, const Use& use) {
  if (part == PriorPart::gradient)
    use(Slope{});
  else if (part == PriorPart::hessian_diagonal)
    use(Curvature{});
  else
    use(Majorant{});
}

/// Arrays lie on the device; sums and value are complete on return.
void sum_cuda(const NeighbourArrays<float>& arrays, const Potential& potential, PriorPart part, float* sums,
              Stream stream);
void sum_cuda(const TotalVariationArrays<float>& arrays, PriorPart part, float* sums, Stream stream);
void sum_cuda(const ParallelLevelSetsArrays<float>& arrays, PriorPart part, float* sums, Stream stream);
double value_cuda(const NeighbourArrays<float>& arrays, const Potential& potential, Stream stream);
double value_cuda(const TotalVariationArrays<float>& arrays, Stream stream);
double value_cuda(const ParallelLevelSetsArrays<float>& arrays, Stream stream);

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
