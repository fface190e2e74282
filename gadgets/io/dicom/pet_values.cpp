// What DICOM says of the values of a PET image: units and corrections (PS3.3, C.8.9.1). See pet_series.hpp.
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gadgets/io/dicom/pet_series.hpp"

namespace tofstream::formats {
namespace {

constexpr std::pair<Correction, const char*> dicom_corrections[] = {
    {Correction::attenuation, "ATTN"}, {Correction::normalisation, "NORM"}, {Correction::randoms, "RAN"},
    {Correction::scatter, "SCAT"},     {Correction::dead_time, "DTIM"},     {Correction::decay, "DECY"}};

// Units, and the factor to them.
void set_units(const std::string& unit, bool is_rate, PetValues& values) {
  if (unit == "Bq/mL" || unit == "kBq/mL") {
    values.units = "BQML";
    values.factor = unit == "Bq/mL" ? 1 : 1000;
    return;
  }
  values.units = is_rate ? "PROPCPS" : "PROPCNTS";
  values.remarks.push_back(unit == "relative" || unit.empty()
                               ? "Values are relative: their unit is not known."
                               : fmt::format("Values are in {}, for which DICOM has no unit.", unit));
}

}  // namespace

PetValues pet_values(const Quantity* quantity) {
  PetValues values;
  if (!quantity) {
    set_units("", false, values);
    return values;
  }
  set_units(unit_of(*quantity), quantity->reference_s == 1, values);
  for (const auto& [correction, term] : dicom_corrections)
    if ((*quantity)[correction].state == CorrectionState::made) values.corrected.emplace_back(term);
  if (const auto reasons = not_quantitative_because(*quantity); !reasons.empty())
    values.remarks.push_back(fmt::format("Not quantitative: {}.", fmt::join(reasons, "; ")));
  // DICOM knows the activity at the scan's start, and none at another time of the scan.
  const auto decay = decay_correction_of(quantity);
  if (decay && decay->half_life_s > 0 && decay->reference_time_s != 0) {
    values.factor *= std::exp2(decay->reference_time_s / decay->half_life_s);
    values.remarks.push_back(
        fmt::format("The image was corrected for decay to {:g} s of scan time; here its values are those of the scan's "
                    "start, which DICOM asks for.",
                    decay->reference_time_s));
  }
  return values;
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
