// What a CASToR file's events show: see quantity.hpp.
#include "gadgets/io/castor/quantity.hpp"

#include <fmt/format.h>

namespace tofstream::castor {

Quantity quantity_of(const DataHeader& header, double reference_s, const DataHeader* lines) {
  const std::string file = header.file.filename().string();
  Quantity quantity;
  if (header.calibration != 1) {
    quantity.unit = "Bq/mL";
    quantity.scale = fmt::format("calibration factor of {}", file);
  } else {
    quantity.scale = fmt::format("the calibration factor of {} is 1", file);
  }
  const auto from_lines = [&](Correction correction) {
    quantity[correction] = {CorrectionState::made, fmt::format("factors of {}", lines->file.filename().string())};
  };
  if (lines && lines->has_attenuation)
    from_lines(Correction::attenuation);
  else if (header.has_attenuation)
    quantity[Correction::attenuation] = {
        CorrectionState::called_for,
        fmt::format("the events have the factors of {}: give the projector, by `mu_map`, the map they are from", file)};
  if (lines && lines->has_normalisation)
    from_lines(Correction::normalisation);
  else if (header.has_normalisation)
    quantity[Correction::normalisation] = {
        CorrectionState::called_for,
        fmt::format("the events have the factors of {}, and the sensitivity takes all pairs alike: give castor_source "
                    "the file that lists them, by `normalisation`",
                    file)};
  const auto rates = [&](Correction correction, bool are_there) {
    quantity[correction] = are_there
                               ? CorrectionRecord{CorrectionState::made, fmt::format("rates of {}", file)}
                               : CorrectionRecord{CorrectionState::not_made, fmt::format("{} has no rates", file)};
  };
  rates(Correction::randoms, header.has_randoms);
  rates(Correction::scatter, header.has_scatter);
  if (!header.isotope.empty()) quantity[Correction::decay].how = fmt::format("{} of {}", header.isotope, file);
  if (header.has_randoms || header.has_scatter) quantity.reference_s = reference_s;
  return quantity;
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
