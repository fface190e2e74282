// Coincidences with more than one scatter, added to an estimate of those with one.
#pragma once

#include "gadgets/step/line_scatter.hpp"
#include "kernels/ring/scatter/multiple_scatter.hpp"

namespace tofstream {

/// Adds them at the estimate's samples, which are `sampling`'s. Throws as multiple_scatter() does, and what `progress`
/// throws.
MultipleScatterPart add_multiple_scatter(ScatterEstimate& estimate, const Image& activity, const Image& mu_per_mm,
                                         const ScatterDetectors& detectors, const ScatterSampling& sampling,
                                         double error, Backend backend, const ImageScatterProgress& progress);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
