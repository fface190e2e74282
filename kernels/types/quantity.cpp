// What the values of an image are: see quantity.hpp.
#include "kernels/types/quantity.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tofstream {
namespace {

constexpr std::array<std::string_view, correction_count> correction_names = {"attenuation", "normalisation", "randoms",
                                                                             "scatter",     "dead time",     "decay"};
constexpr std::array<std::string_view, 4> state_names = {"not needed", "made", "not made", "called for"};

void add_new(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& text : from)
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
}

// Where the two say different things about the scale, they have none in common.
void merge_scale(Quantity& sum, const Quantity& other) {
  if (sum.unit == other.unit && sum.reference_s == other.reference_s) return;
  sum.unit.clear();
  sum.scale = "events on different scales";
  if (sum.reference_s != other.reference_s) sum.reference_s = 0;
}

// Where one does not know how decay was corrected, it is not known of all.
void merge_decay(Quantity& sum, const Quantity& other) {
  if (sum.decay == other.decay) return;
  const bool differ = sum.decay.half_life_s > 0 && other.decay.half_life_s > 0;
  sum.decay = {};
  if (differ) add_new(sum.marks, {"events were corrected for decay in different ways"});
}

// The later state in the order of CorrectionState is the worse one.
const CorrectionRecord& worse(const CorrectionRecord& a, const CorrectionRecord& b) {
  return b.state > a.state ? b : a;
}

}  // namespace

std::string_view name_of(Correction correction) {
  return correction_names[static_cast<std::size_t>(correction)];
}

std::string_view name_of(CorrectionState state) {
  return state_names[static_cast<std::size_t>(state)];
}

std::string unit_of(const Quantity& quantity) {
  if (quantity.unit.empty() || !(quantity.reference_s > 0)) return "relative";
  if (quantity.reference_s == 1) return quantity.unit;
  const auto slash = std::min(quantity.unit.find('/'), quantity.unit.size());
  return quantity.unit.substr(0, slash) + " s" + quantity.unit.substr(slash);
}

std::string words_of(const DecayCorrection& decay) {
  std::string words = fmt::format("half-life {:.10g} s", decay.half_life_s);
  if (decay.reference_time_s != 0) words += fmt::format(", to {:.10g} s of scan time", decay.reference_time_s);
  return words;
}

void correct_for_decay(Quantity& quantity, const DecayCorrection& decay) {
  quantity[Correction::decay] = {CorrectionState::made, words_of(decay)};
  quantity.decay = decay;
}

std::optional<DecayCorrection> decay_correction_of(const Quantity* quantity) {
  if (!quantity || (*quantity)[Correction::decay].state != CorrectionState::made) return std::nullopt;
  return quantity->decay;
}

std::vector<std::string> corrections_in(const Quantity& quantity, CorrectionState state) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < correction_count; ++c)
    if (quantity.corrections[c].state == state) names.emplace_back(correction_names[c]);
  return names;
}

std::vector<std::string> not_quantitative_because(const Quantity& quantity) {
  std::vector<std::string> reasons;
  if (quantity.unit.empty()) reasons.push_back(quantity.scale);
  for (const std::string& gadget : quantity.rejecting) reasons.push_back(gadget + " left out valid events");
  add_new(reasons, quantity.marks);
  std::vector<std::string> missing = corrections_in(quantity, CorrectionState::not_made);
  std::erase(missing, name_of(Correction::decay));
  std::vector<std::string> needed = corrections_in(quantity, CorrectionState::called_for);
  add_new(needed, missing);
  if (!needed.empty()) reasons.push_back(fmt::format("no correction for {}", fmt::join(needed, ", ")));
  return reasons;
}

std::string label_of(const Quantity& quantity) {
  const auto reasons = not_quantitative_because(quantity);
  const std::string unit = unit_of(quantity);
  return reasons.empty() ? unit : fmt::format("{}, not quantitative: {}", unit, fmt::join(reasons, "; "));
}

Quantity merged(const Quantity& a, const Quantity& b) {
  Quantity sum = a;
  merge_scale(sum, b);
  for (std::size_t c = 0; c < correction_count; ++c) sum.corrections[c] = worse(a.corrections[c], b.corrections[c]);
  merge_decay(sum, b);
  add_new(sum.rejecting, b.rejecting);
  add_new(sum.marks, b.marks);
  if (!(a.attenuated_by == b.attenuated_by)) {
    add_new(sum.marks, {"events were corrected with different mu maps"});
    sum.attenuated_by = b.attenuated_by;
  }
  return sum;
}

std::shared_ptr<const Quantity> with_rejecting(const std::shared_ptr<const Quantity>& quantity,
                                               const std::string& gadget) {
  if (quantity && std::ranges::find(quantity->rejecting, gadget) != quantity->rejecting.end()) return quantity;
  auto marked = quantity ? std::make_shared<Quantity>(*quantity) : std::make_shared<Quantity>();
  marked->rejecting.push_back(gadget);
  return marked;
}

void QuantitySoFar::add(const std::shared_ptr<const Quantity>& quantity) {
  if (!quantity || quantity == last_) return;
  last_ = quantity;
  if (!all_) {
    all_ = quantity;
    return;
  }
  auto both = std::make_shared<const Quantity>(merged(*all_, *quantity));
  if (!(*both == *all_)) all_ = std::move(both);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
