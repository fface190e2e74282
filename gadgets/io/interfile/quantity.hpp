// What images of projection data show.
#pragma once

#include "gadgets/io/interfile/projection_header.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::interfile {

/// What comes with the data.
struct BinTerms {
  bool has_normalisation = false, has_attenuation = false, has_background = false;
  double reference_s = 1;
};

/// Relative: the format states no calibration that belongs to efficiencies. Corrections are made by the files that were
/// given, in the events and in the sensitivity alike.
Quantity quantity_of(const ProjectionHeader& header, const BinTerms& terms);

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
