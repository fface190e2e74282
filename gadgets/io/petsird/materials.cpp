// Attenuation of materials: see materials.hpp.
#include "gadgets/io/petsird/materials.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tofstream::petsird {
namespace {

// Mass attenuation in cm2/g at 511 keV of hydrogen to uranium: the total cross sections of xraylib 4.0 (T. Schoonjans
// et al., Spectrochim. Acta B 66 (2011) 776).
constexpr std::array mass_attenuation{
    0.17130, 0.08628, 0.07464, 0.07669, 0.07993, 0.08636, 0.08640, 0.08650, 0.08199, 0.08585,  // H to Ne
    0.08295, 0.08567, 0.08367, 0.08667, 0.08431, 0.08700, 0.08373, 0.07882, 0.08517, 0.08765,  // Na to Ca
    0.08223, 0.08110, 0.07993, 0.08197, 0.08108, 0.08326, 0.08226, 0.08604, 0.08270, 0.08357,  // Sc to Zn
    0.08141, 0.08118, 0.08160, 0.08030, 0.08224, 0.08122, 0.08251, 0.08330, 0.08494, 0.08572,  // Ga to Zr
    0.08704, 0.08717, 0.08831, 0.08852, 0.08988, 0.08985, 0.09165, 0.09091, 0.09206, 0.09206,  // Nb to Sn
    0.09278, 0.09151, 0.09513, 0.09507, 0.09710, 0.09716, 0.09934, 0.10183, 0.10473, 0.10582,  // Sb to Nd
    0.10895, 0.10858, 0.11115, 0.11112, 0.11378, 0.11513, 0.11733, 0.11973, 0.12269, 0.12396,  // Pm to Yb
    0.12684, 0.12870, 0.13138, 0.13381, 0.13673, 0.13850, 0.14186, 0.14465, 0.14825, 0.15065,  // Lu to Hg
    0.15301, 0.15619, 0.16023, 0.16577, 0.17072, 0.16704, 0.17206, 0.17560, 0.18082, 0.18300,  // Tl to Th
    0.19006, 0.19074};                                                                         // Pa and U

struct Scintillator {
  std::string_view name;
  double attenuation_per_cm;
};

// By the same cross sections, with the densities in g/mL that are usual: LSO 7.4, LYSO (5 % yttrium) 7.1, BGO 7.13,
// GSO 6.71, GAGG 6.63, LuAP 8.34, NaI 3.67, CsI 4.51, LaBr3 5.08, CeBr3 5.2, BaF2 4.88.
constexpr std::array scintillators{
    Scintillator{"LSO", 0.868},   Scintillator{"LYSO", 0.826},  Scintillator{"BGO", 0.963}, Scintillator{"GSO", 0.703},
    Scintillator{"GAGG", 0.648},  Scintillator{"LUAP", 0.954},  Scintillator{"NAI", 0.342}, Scintillator{"CSI", 0.434},
    Scintillator{"LABR3", 0.450}, Scintillator{"CEBR3", 0.465}, Scintillator{"BAF2", 0.458}};

std::optional<double> by_atoms(const BulkMaterial& material) {
  if (material.atoms.empty() || material.atoms.size() != material.mass_fractions.size()) return std::nullopt;
  double sum = 0, all = 0;
  for (std::size_t k = 0; k < material.atoms.size(); ++k) {
    const std::uint32_t number = material.atoms[k].atomic_number;
    const auto fraction = static_cast<double>(material.mass_fractions[k]);
    if (number < 1 || number > mass_attenuation.size() || !(fraction >= 0)) return std::nullopt;
    sum += fraction * mass_attenuation[number - 1];
    all += fraction;
  }
  const double per_cm = static_cast<double>(material.density_g_per_cm3) * sum / all;  // fractions need not add up to 1
  if (!(per_cm > 0 && per_cm <= 100)) return std::nullopt;
  return 0.1 * per_cm;
}

// A word of the name, such as LYSO in 'LYSO:Ce'.
std::optional<double> by_name(const std::string& name) {
  const auto is_end = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  for (auto at = name.begin(); at != name.end();) {
    const auto end = std::find_if(at, name.end(), is_end);
    std::string word(at, end);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto* known = std::ranges::find(scintillators, word, &Scintillator::name);
    if (known != scintillators.end()) return 0.1 * known->attenuation_per_cm;
    at = std::find_if_not(end, name.end(), is_end);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> attenuation_per_mm(const BulkMaterial& material) {
  const auto of_atoms = by_atoms(material);
  return of_atoms ? of_atoms : by_name(material.name);
}

BulkMaterial scintillator(std::uint32_t id, double attenuation_per_mm) {
  const std::string name = fmt::format("scintillator of {:.4g}/cm at 511 keV, as of Lu2SiO5", 10 * attenuation_per_mm);
  BulkMaterial material{id, name, 1, {{175, 71}, {28, 14}, {16, 8}}, {0.7640F, 0.0613F, 0.1747F}};
  material.density_g_per_cm3 = static_cast<float>(attenuation_per_mm / by_atoms(material).value());
  return material;
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
