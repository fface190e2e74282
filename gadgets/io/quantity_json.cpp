// Quantities to and from JSON: see quantity_json.hpp.
#include "gadgets/io/quantity_json.hpp"

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace tofstream {
namespace {

using Json = nlohmann::ordered_json;

constexpr CorrectionState states[] = {CorrectionState::not_needed, CorrectionState::made, CorrectionState::not_made,
                                      CorrectionState::called_for};

CorrectionState state_from(const std::string& name) {
  for (const CorrectionState state : states)
    if (name == name_of(state)) return state;
  return CorrectionState::not_made;
}

}  // namespace

Json to_json(const Quantity& quantity) {
  const auto reasons = not_quantitative_because(quantity);
  Json corrections = Json::object();
  for (std::size_t c = 0; c < correction_count; ++c) {
    const CorrectionRecord& record = quantity.corrections[c];
    Json& entry = corrections[std::string(name_of(static_cast<Correction>(c)))];
    entry["state"] = name_of(record.state);
    if (!record.how.empty()) entry["how"] = record.how;
  }
  if (const auto decay = decay_correction_of(&quantity); decay && decay->half_life_s > 0) {
    Json& entry = corrections[std::string(name_of(Correction::decay))];
    entry["half_life_s"] = decay->half_life_s;
    entry["reference_time_s"] = decay->reference_time_s;
  }
  Json json{{"unit", unit_of(quantity)},
            {"quantitative", reasons.empty()},
            {"not_quantitative", reasons},
            {"corrections", std::move(corrections)},
            {"unit_of_rate", quantity.unit},
            {"scale", quantity.scale},
            {"reference_s", quantity.reference_s},
            {"rejecting", quantity.rejecting},
            {"marks", quantity.marks}};
  if (const AttenuatedBy& by = quantity.attenuated_by; !by.gadget.empty())
    json["attenuated_by"] = {{"gadget", by.gadget}, {"mu_map", by.mu_map}, {"checksum", by.checksum}};
  return json;
}

Quantity quantity_from_json(const Json& json) {
  Quantity quantity{.unit = json.at("unit_of_rate").get<std::string>(),
                    .scale = json.at("scale").get<std::string>(),
                    .reference_s = json.at("reference_s").get<double>(),
                    .rejecting = json.at("rejecting").get<std::vector<std::string>>(),
                    .marks = json.at("marks").get<std::vector<std::string>>()};
  for (std::size_t c = 0; c < correction_count; ++c) {
    const Json& entry = json.at("corrections").at(std::string(name_of(static_cast<Correction>(c))));
    quantity.corrections[c] = {state_from(entry.at("state").get<std::string>()), entry.value("how", "")};
  }
  const Json& decay = json.at("corrections").at(std::string(name_of(Correction::decay)));
  quantity.decay = {decay.value("half_life_s", 0.0), decay.value("reference_time_s", 0.0)};
  if (const auto by = json.find("attenuated_by"); by != json.end())
    quantity.attenuated_by = {by->at("gadget").get<std::string>(), by->at("mu_map").get<std::string>(),
                              by->at("checksum").get<std::uint32_t>()};
  return quantity;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
