// What an image of a CASToR file's events shows, and which corrections they have.
#pragma once

#include <string>

#include "gadgets/io/castor/data_header.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::castor {

/// Randoms and scatter are corrected where the events state their rates. Attenuation and normalisation are in the
/// events' terms where the flags say so, and the sensitivity must have them too: attenuation by a mu map, while
/// efficiencies of single pairs cannot be given to it, so that the image is marked. `reference_s`: the scan time whose
/// decays an image counts.
Quantity quantity_of(const DataHeader& header, double reference_s);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
