// How decay was corrected, in words and from words: see decay_words.hpp.
#include "gadgets/io/decay_words.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr std::string_view half_life_word = "half-life ", reference_word = ", to ";

// The number behind a word; 0 where there is none.
double number_after_word(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + word.size());
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::isfinite(value) ? value : 0;
}

}  // namespace

std::string decay_words(const DecayCorrection& decay) {
  std::string words = fmt::format("{}{:.10g} s", half_life_word, decay.half_life_s);
  if (decay.reference_time_s != 0)
    words += fmt::format("{}{:.10g} s of scan time", reference_word, decay.reference_time_s);
  return words;
}

std::optional<DecayCorrection> decay_correction_of(const Quantity* quantity) {
  if (!quantity || (*quantity)[Correction::decay].state != CorrectionState::made) return std::nullopt;
  const std::string& how = (*quantity)[Correction::decay].how;
  if (!how.starts_with(half_life_word)) return DecayCorrection{};
  return DecayCorrection{number_after_word(how, half_life_word), number_after_word(how, reference_word)};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
