// A header's words on scale and corrections: see quantity.hpp.
#include "gadgets/io/petsird/quantity.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tofstream::petsird {
namespace {

constexpr std::string_view simulation_words = "; tofstream simulation: ";

bool has_tables(const DetectionEfficiencies& efficiencies) {
  for (const auto& row : efficiencies.module_pair_efficiencies)
    for (const auto& groups : row)
      if (!groups.empty()) return true;
  return false;
}

bool has_bin_efficiencies(const DetectionEfficiencies& efficiencies) {
  for (const auto& type : efficiencies.detection_bin_efficiencies)
    if (!type.empty()) return true;
  return false;
}

// What a simulated scanner's efficiencies are, without their scale and what is simulated.
std::string_view efficiencies_in_words(const DetectionEfficiencies& efficiencies) {
  const std::string_view words = efficiencies.method_description;
  return words.substr(0, words.find(absolute_scale_words));
}

bool is_perfect(const DetectionEfficiencies& efficiencies) {
  return efficiencies_in_words(efficiencies).ends_with(perfect_words);
}

void set_scale(Quantity& quantity, const DetectionEfficiencies& efficiencies) {
  const bool is_absolute = efficiencies.method_description.find(absolute_scale_words) != std::string::npos;
  const bool is_ours = is_absolute && (has_tables(efficiencies) || is_perfect(efficiencies));
  if (is_ours) {
    quantity.unit = "Bq/mL";
    quantity.scale = "efficiencies of the simulated scanner";
  } else if (efficiencies.calibration_factor != 1) {
    quantity.unit = "kBq/mL";
    quantity.scale = "calibration factor of the header, for annihilations per mm^3";
  } else {
    quantity.scale = "the header has no calibration factor";
  }
}

void set_normalisation(Quantity& quantity, const DetectionEfficiencies& efficiencies) {
  CorrectionRecord& record = quantity[Correction::normalisation];
  if (has_tables(efficiencies) || has_bin_efficiencies(efficiencies))
    record = {CorrectionState::made, "efficiencies of the header"};
  else if (is_perfect(efficiencies))
    record = {CorrectionState::not_needed, std::string(efficiencies_in_words(efficiencies))};
  else
    record.how = "the header has no efficiencies";
}

// "attenuation yes, randoms no, ..." as state_simulation writes it.
void set_simulated(Quantity& quantity, std::string_view words) {
  const auto at = words.find(simulation_words);
  if (at == std::string_view::npos) return;
  words.remove_prefix(at + simulation_words.size());
  for (std::size_t c = 0; c < correction_count; ++c) {
    const auto correction = static_cast<Correction>(c);
    const std::string name(name_of(correction));
    if (words.find(name + " yes") != std::string_view::npos)
      quantity[correction] = {CorrectionState::called_for, "simulated, as the header says"};
    else if (words.find(name + " no") != std::string_view::npos)
      quantity[correction] = {CorrectionState::not_needed, "not simulated, as the header says"};
  }
}

}  // namespace

Quantity quantity_of(const Header& header) {
  const DetectionEfficiencies& efficiencies = header.scanner.efficiencies;
  Quantity quantity;
  set_scale(quantity, efficiencies);
  set_normalisation(quantity, efficiencies);
  set_simulated(quantity, efficiencies.method_description);
  return quantity;
}

void state_simulation(Header& header, const Quantity& quantity) {
  std::string said;
  for (std::size_t c = 0; c < correction_count; ++c) {
    const auto correction = static_cast<Correction>(c);
    const CorrectionState state = quantity[correction].state;
    const bool needs = state == CorrectionState::called_for;
    if (correction == Correction::normalisation || !(needs || state == CorrectionState::not_needed)) continue;
    said += fmt::format("{}{} {}", said.empty() ? simulation_words : ", ", name_of(correction), needs ? "yes" : "no");
  }
  header.scanner.efficiencies.method_description += said;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
