// Normalisation components from and to YAML: see normalisation_yaml.hpp.
#include "gadgets/ring/io/normalisation_yaml.hpp"

#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "gadgets/io/yaml/described_file.hpp"

namespace tofstream::formats {
namespace {

constexpr Limits not_negative = range(0, 1e12);

struct NormalisationFile {
  std::optional<float> calibration;
  std::string unit;
  std::vector<float> crystal_efficiency, class_factor, crystal_error, crystal_events, class_error;
  std::vector<std::int64_t> dead, hot, unseen;
  static constexpr auto params = describe(
      param<&NormalisationFile::calibration>("calibration", range(1e-12, 1e12), "Factor of every pair"),
      param<&NormalisationFile::unit>("unit", "Of images by this calibration, such as Bq/mL"),
      param<&NormalisationFile::crystal_efficiency>("crystal_efficiency", range(0, 1e12),
                                                    "One factor a crystal, in the order of PETSIRD's bins"),
      param<&NormalisationFile::class_factor>("class_factor", range(0, 1e12), "One factor a table of module pairs"),
      param<&NormalisationFile::crystal_error>("crystal_error", not_negative, "Relative errors of the efficiencies"),
      param<&NormalisationFile::crystal_events>("crystal_events", not_negative,
                                                "Events of the source that each took part in"),
      param<&NormalisationFile::class_error>("class_error", not_negative, "Relative errors of the factors"),
      param<&NormalisationFile::dead>("dead", at_least(0), "Crystals that are dead"),
      param<&NormalisationFile::hot>("hot", at_least(0), "Crystals that count too much"),
      param<&NormalisationFile::unseen>("unseen", at_least(0), "Crystals of which nothing is known"));
};

NormalisationComponents normalisation_of(const Value& document) {
  auto file = described<NormalisationFile>(document, "normalisation");
  if (file.crystal_efficiency.empty() && file.class_factor.empty() && !file.calibration)
    refuse(document.where, "a normalisation needs crystal_efficiency, class_factor or calibration");
  NormalisationComponents components;
  if (file.calibration) components.calibration = *file.calibration;
  components.unit = std::move(file.unit);
  components.crystal_efficiency = std::move(file.crystal_efficiency);
  components.class_factor = std::move(file.class_factor);
  return components;
}

template <class T>
void add_list(std::string& text, std::string_view key, const std::vector<T>& values, std::string_view format) {
  if (values.empty()) return;
  constexpr std::size_t in_a_line = 16;
  text += fmt::format("{}: [", key);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k > 0) text += k % in_a_line == 0 ? ",\n  " : ", ";
    fmt::format_to(std::back_inserter(text), fmt::runtime(format), values[k]);
  }
  text += "]\n";
}

}  // namespace

NormalisationComponents parse_normalisation(const std::string& text, const std::string& file) {
  return normalisation_of(parse_text(text, file));
}

NormalisationComponents read_normalisation(const std::filesystem::path& file) {
  return normalisation_of(read_document(file));
}

void write_normalisation(const std::filesystem::path& file, const NormalisationComponents& components,
                         const NormalisationWords& words) {
  std::string text;
  for (const std::string& line : words.comments) text += fmt::format("# {}\n", printable(line));
  if (components.calibration > 0) text += fmt::format("calibration: {:.6g}\n", components.calibration);
  if (!components.unit.empty()) text += fmt::format("unit: {}\n", components.unit);
  add_list(text, "class_factor", components.class_factor, "{:.6g}");
  add_list(text, "class_error", words.class_error, "{:.3g}");
  add_list(text, "dead", words.dead, "{}");
  add_list(text, "hot", words.hot, "{}");
  add_list(text, "unseen", words.unseen, "{}");
  add_list(text, "crystal_efficiency", components.crystal_efficiency, "{:.6g}");
  add_list(text, "crystal_error", words.crystal_error, "{:.3g}");
  add_list(text, "crystal_events", words.crystal_events, "{:.6g}");
  AtomicFile written(file);
  written.write(std::string_view(text));
  written.commit();
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
