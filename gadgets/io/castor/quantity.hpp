// What an image of a CASToR file's events shows, and which corrections they have.
#pragma once

#include <string>

#include "gadgets/io/castor/data_header.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::castor {

/// Randoms and scatter are corrected where the events state their rates. Attenuation and normalisation are in the
/// events' terms where the flags say so, and the sensitivity must have them too: from the file that lists
/// the lines (`lines`, null: none), or attenuation by a mu map. `reference_s`: the scan time whose decays an image
/// counts.
Quantity quantity_of(const DataHeader& header, double reference_s, const DataHeader* lines = nullptr);

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
