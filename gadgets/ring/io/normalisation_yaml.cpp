// Normalisation components from YAML: see normalisation_yaml.hpp.
#include "gadgets/ring/io/normalisation_yaml.hpp"

#include <fmt/format.h>

#include "gadgets/io/yaml/yaml_object.hpp"

namespace tofstream::formats {

NormalisationComponents parse_normalisation(const std::string& text, const std::string& file) {
  YamlObject root(parse_yaml(text, file), file, "a normalisation");
  constexpr double largest = 1e12;
  NormalisationComponents components;
  if (root.has("calibration")) components.calibration = static_cast<float>(root.number("calibration", 1e-12, largest));
  if (root.has("crystal_efficiency"))
    for (const double efficiency : root.numbers("crystal_efficiency", 0)) {
      if (!(efficiency >= 0 && efficiency <= largest))
        root.fail("crystal_efficiency", fmt::format("an efficiency cannot be {}", efficiency));
      components.crystal_efficiency.push_back(static_cast<float>(efficiency));
    }
  root.finish();
  if (components.crystal_efficiency.empty() && components.calibration == 0)
    root.fail("it needs crystal_efficiency, calibration or both");
  return components;
}

NormalisationComponents read_normalisation(const std::filesystem::path& file) {
  return parse_normalisation(read_text(file), file.string());
}

}  // namespace tofstream::formats
