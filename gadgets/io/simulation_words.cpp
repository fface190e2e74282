// Words of simulated effects: see simulation_words.hpp.
#include "gadgets/io/simulation_words.hpp"

#include <fmt/format.h>

namespace tofstream::formats {

std::string simulation_words(const Quantity& quantity) {
  std::string said;
  for (std::size_t c = 0; c < correction_count; ++c) {
    const auto correction = static_cast<Correction>(c);
    const CorrectionState state = quantity[correction].state;
    const bool needs = state == CorrectionState::called_for;
    if (correction == Correction::normalisation || !(needs || state == CorrectionState::not_needed)) continue;
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name_of(correction), needs ? "yes" : "no");
  }
  return said;
}

void read_simulation_words(std::string_view words, Quantity& quantity) {
  for (std::size_t c = 0; c < correction_count; ++c) {
    const auto correction = static_cast<Correction>(c);
    const std::string name(name_of(correction));
    if (words.find(name + " yes") != std::string_view::npos)
      quantity[correction] = {CorrectionState::called_for, "simulated, as the header says"};
    else if (words.find(name + " no") != std::string_view::npos)
      quantity[correction] = {CorrectionState::not_needed, "not simulated, as the header says"};
  }
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
