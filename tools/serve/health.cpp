// A server's health as JSON: see health.hpp.
#include "tools/serve/health.hpp"

#include <fmt/format.h>

#include "core/gadget/memory.hpp"
#include "tools/serve/protocol.hpp"

namespace tofstream::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char*, std::size_t Place::*> numbers[] = {{"at_once", &Place::at_once},
                                                                    {"running", &Place::running},
                                                                    {"waiting", &Place::waiting},
                                                                    {"memory_bytes", &Place::memory_bytes},
                                                                    {"memory_free_bytes", &Place::memory_free},
                                                                    {"gpu_memory_bytes", &Place::gpu_bytes},
                                                                    {"gpu_memory_free_bytes", &Place::gpu_free}};

Json to_json(const Place& place) {
  Json json{{"name", place.name}, {"why_not", place.why_not}};
  for (const auto& [name, number] : numbers) json[name] = place.*number;
  return json;
}

Place read_place(const Json& json) {
  Place place{.name = json.at("name").get<std::string>(), .why_not = json.at("why_not").get<std::string>()};
  for (const auto& [name, number] : numbers) {
    const Json& value = json.at(name);
    if (!value.is_number_unsigned()) throw BadMessage(fmt::format("a server's health whose {} is no number", name));
    place.*number = value.get<std::size_t>();
  }
  return place;
}

}  // namespace

Json to_json(const Health& health) {
  Json places = Json::array();
  for (const Place& place : health.places) places.push_back(to_json(place));
  return {{"version", health.version}, {"identity", health.identity}, {"places", std::move(places)}};
}

Health read_health(const Json& json) try {
  Health health{.version = json.at("version").get<std::string>(), .identity = json.at("identity").get<std::string>()};
  for (const Json& place : json.at("places")) health.places.push_back(read_place(place));
  return health;
} catch (const Json::exception&) {
  throw BadMessage("a server's health that lacks what this release reads in it: use one release at both ends");
}

Place sum_of(const std::vector<Place>& places) {
  Place sum{.at_once = 0};
  for (const Place& place : places)
    for (const auto& [name, number] : numbers) sum.*number = memory_sum(sum.*number, place.*number);
  return sum;
}

}  // namespace tofstream::serve
// SPDX-License-Identifier: Apache-2.0
