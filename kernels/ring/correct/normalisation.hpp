// A scanner with other efficiencies. Events and sensitivity look efficiencies up in the same scanner, so that who
// replaces it corrects both alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/types/scanner.hpp"

namespace tofstream {

/// What a normalisation measured, in place of what a stream says.
struct NormalisationComponents {
  std::vector<float> crystal_efficiency;  // one a detector, in their order; empty: the scanner's own
  float calibration = 0;                  // factor of all efficiencies; 0: the scanner's own
  std::vector<float> class_factor = {};   // one a table of module pairs, by which it is multiplied; empty: 1
  std::string unit = {};                  // of images by this calibration; empty: not stated
};

/// The scanner with these components; its geometry remains, and its pair tables but for their factors. Every energy bin of a crystal gets the
/// crystal's efficiency divided by their number, so that a pair's sum over energies is the product of two crystals'.
/// Throws std::invalid_argument for a number of efficiencies other than the detectors', of factors other than the
/// tables', or a value that is negative or not finite.
std::shared_ptr<const Scanner> with_normalisation(const Scanner& scanner, const NormalisationComponents& components);

/// The scanner with efficiency 1 for every pair in coincidence.
std::shared_ptr<const Scanner> without_normalisation(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
