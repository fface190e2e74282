// Quantities of projection data: see quantity.hpp.
#include "gadgets/io/interfile/quantity.hpp"

#include <fmt/format.h>

namespace tofstream::interfile {

Quantity quantity_of(const ProjectionHeader& header, const BinTerms& terms) {
  const std::string file = header.file.filename().string();
  Quantity quantity;
  quantity.scale = fmt::format("{} states no calibration", file);
  const auto by = [&](Correction correction, bool is_there, const char* key) {
    quantity[correction] = is_there
                               ? CorrectionRecord{CorrectionState::made, fmt::format("the file of '{}'", key)}
                               : CorrectionRecord{CorrectionState::not_made, fmt::format("no '{}' was given", key)};
  };
  by(Correction::normalisation, terms.has_normalisation, "normalisation");
  by(Correction::attenuation, terms.has_attenuation, "attenuation");
  by(Correction::randoms, terms.has_background, "additive or background");
  by(Correction::scatter, terms.has_background, "additive or background");
  if (!header.isotope.empty()) quantity[Correction::decay].how = fmt::format("{} of {}", header.isotope, file);
  if (terms.has_background) quantity.reference_s = terms.reference_s;
  return quantity;
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
