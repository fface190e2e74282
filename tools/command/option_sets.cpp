// See option_sets.hpp.
#include "tools/command/option_sets.hpp"

#include <fmt/format.h>

#include "tools/command/errors.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

void OptionSets::add(const std::string& option, const std::string& key, const std::string& value) {
  sets_.push_back({option, key, value});
}

Pipeline OptionSets::load(const std::string& pipeline) const {
  PipelineOptions options;
  for (const Set& set : sets_) options.sets.push_back(fmt::format("{}={}", set.key, set.value));
  try {
    return command::load(pipeline, options);
  } catch (const InputError& error) {
    throw InputError(in_options(error.what()));
  }
}

// "--set photons.events=-5: gadgets.photons.events must be ..." becomes "--events -5: must be ...".
std::string OptionSets::in_options(std::string errors) const {
  for (const Set& set : sets_) {
    if (set.option.empty()) continue;
    const std::string place = fmt::format("--set {}={}: ", set.key, set.value);
    const std::size_t at = errors.find(place);
    if (at == std::string::npos) continue;
    const std::string typed = fmt::format("{} {}: ", set.option, set.value);
    errors.replace(at, place.size(), typed);
    for (const std::string& parameter : {"gadgets." + set.key + " ", set.key + " "})
      if (errors.compare(at + typed.size(), parameter.size(), parameter) == 0)
        errors.erase(at + typed.size(), parameter.size());
  }
  return errors;
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
