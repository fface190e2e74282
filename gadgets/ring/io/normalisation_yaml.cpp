// Normalisation components from YAML: see normalisation_yaml.hpp.
#include "gadgets/ring/io/normalisation_yaml.hpp"

#include <optional>
#include <vector>

#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {
namespace {

struct NormalisationFile {
  std::optional<float> calibration;
  std::vector<float> crystal_efficiency;
  static constexpr auto params =
      describe(param<&NormalisationFile::calibration>("calibration", range(1e-12, 1e12), "Factor of every pair"),
               param<&NormalisationFile::crystal_efficiency>("crystal_efficiency", range(0, 1e12),
                                                             "One factor a crystal, in the order of PETSIRD's bins"));
};

NormalisationComponents normalisation_of(const Value& document) {
  auto file = described<NormalisationFile>(document, "normalisation");
  if (file.crystal_efficiency.empty() && !file.calibration)
    refuse(document.where, "a normalisation needs crystal_efficiency, calibration or both");
  NormalisationComponents components;
  if (file.calibration) components.calibration = *file.calibration;
  components.crystal_efficiency = std::move(file.crystal_efficiency);
  return components;
}

}  // namespace

NormalisationComponents parse_normalisation(const std::string& text, const std::string& file) {
  return normalisation_of(parse_text(text, file));
}

NormalisationComponents read_normalisation(const std::filesystem::path& file) {
  return normalisation_of(read_document(file));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
