// Singles of modules from those of their detectors.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/types/scanner.hpp"
#include "kernels/types/singles_counts.hpp"

namespace tofstream {

/// Module after module. Throws std::out_of_range for counts of fewer detectors than the scanner has.
inline std::vector<double> singles_of_modules(const Scanner& scanner, const SinglesCounts& singles) {
  std::vector<double> sums(scanner.modules());
  for (const ModuleType& type : scanner.types)
    for (std::size_t d = 0; d < std::size_t{type.modules} * type.elements; ++d)
      sums[type.first_module + d / type.elements] += static_cast<double>(singles.counts.at(type.first_detector + d));
  return sums;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
