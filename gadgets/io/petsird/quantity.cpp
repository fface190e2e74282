// A header's words on scale and corrections: see quantity.hpp.
#include "gadgets/io/petsird/quantity.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/closed_form.hpp"
#include "gadgets/io/simulation_words.hpp"

namespace tofstream::petsird {
namespace {

constexpr std::string_view simulation_words_begin = "; tofstream simulation: ";

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

bool has_pair_efficiencies(const DetectionEfficiencies& efficiencies) {
  return has_tables(efficiencies) || has_closed_form(efficiencies);
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
  const bool is_ours = is_absolute(efficiencies) && (has_pair_efficiencies(efficiencies) || is_perfect(efficiencies));
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
  if (has_pair_efficiencies(efficiencies) || has_bin_efficiencies(efficiencies))
    record = {CorrectionState::made, "efficiencies of the header"};
  else if (is_perfect(efficiencies))
    record = {CorrectionState::not_needed, std::string(efficiencies_in_words(efficiencies))};
  else
    record.how = "the header has no efficiencies";
}

void set_simulated(Quantity& quantity, std::string_view description) {
  const auto at = description.find(simulation_words_begin);
  if (at == std::string_view::npos) return;
  formats::read_simulation_words(description.substr(at + simulation_words_begin.size()), quantity);
}

}  // namespace

bool is_absolute(const DetectionEfficiencies& efficiencies) {
  return efficiencies.method_description.find(absolute_scale_words) != std::string::npos;
}

Quantity quantity_of(const Header& header) {
  const DetectionEfficiencies& efficiencies = header.scanner.efficiencies;
  Quantity quantity;
  set_scale(quantity, efficiencies);
  set_normalisation(quantity, efficiencies);
  set_simulated(quantity, efficiencies.method_description);
  return quantity;
}

void restate_efficiencies(DetectionEfficiencies& efficiencies, const std::string& what, bool has_new_scale) {
  const std::string before = std::exchange(efficiencies.method_description, what);
  if (before.find(closed_form_words) != std::string::npos) efficiencies.method_description += closed_form_words;
  if (!has_new_scale && before.find(absolute_scale_words) != std::string::npos)
    efficiencies.method_description += absolute_scale_words;
  if (const auto at = before.find(simulation_words_begin); at != std::string::npos)
    efficiencies.method_description += before.substr(at);
}

void state_simulation(Header& header, const Quantity& quantity) {
  const std::string said = formats::simulation_words(quantity);
  if (said.empty()) return;
  header.scanner.efficiencies.method_description += fmt::format("{}{}", simulation_words_begin, said);
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
