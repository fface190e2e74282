// The table of isotopes: see isotopes.hpp.
#include "kernels/correct/isotopes.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tofstream {

namespace {

constexpr double minute_s = 60, hour_s = 3600, day_s = 86400;

struct Isotope {
  std::string_view name;
  double half_life_s;
  Emission emission;
  std::array<double, 2> photopeaks_keV;  // 0: none
};

constexpr Isotope of_pet(std::string_view name, double half_life_s) {
  return {name, half_life_s, Emission::positrons, {annihilation_keV}};
}
constexpr Isotope of_spect(std::string_view name, double half_life_s, double photopeak_keV, double second_keV = 0) {
  return {name, half_life_s, Emission::single_photons, {photopeak_keV, second_keV}};
}

// Half-lives: NUBASE2020 (F. G. Kondev et al., Chin. Phys. C 45 (2021) 030001); N-13: European Pharmacopoeia 5.7
// (01/2008:50700); Ga-68: N. K. Kuzmenko, Appl. Radiat. Isot. 152 (2019) 188. Energies of gamma rays: ENSDF (National
// Nuclear Data Center). The first peak of Tl-201 is that of the X-rays of mercury (K-alpha 70.8, K-beta 80.3 keV).
constexpr std::array isotopes = {
    of_pet("C-11", 20.3402 * minute_s),
    of_pet("N-13", 9.965 * minute_s),
    of_pet("O-15", 122.266),
    of_pet("F-18", 109.734 * minute_s),
    of_pet("Cu-64", 12.7004 * hour_s),
    of_pet("Ga-68", 67.83 * minute_s),
    of_pet("Rb-82", 1.2575 * minute_s),
    of_pet("Zr-89", 78.360 * hour_s),
    of_spect("Tc-99m", 6.0066 * hour_s, 140.511),
    of_spect("I-123", 13.2232 * hour_s, 158.97),
    of_spect("I-131", 8.0249 * day_s, 364.489),
    of_spect("In-111", 2.8048 * day_s, 245.35, 171.28),
    of_spect("Tl-201", 3.0421 * day_s, 70.8, 167.43),
    of_spect("Lu-177", 6.6443 * day_s, 208.366, 112.95),
};

const Isotope* find_isotope(std::string_view name) {
  const auto* found = std::ranges::find(isotopes, name, &Isotope::name);
  return found == isotopes.end() ? nullptr : found;
}

const char* words_of(Emission emission) {
  return emission == Emission::positrons ? "positrons (PET)" : "single photons (SPECT)";
}

}  // namespace

std::vector<std::string> known_isotopes(Emission emission) {
  std::vector<std::string> names;
  for (const Isotope& isotope : isotopes)
    if (isotope.emission == emission) names.emplace_back(isotope.name);
  return names;
}

double half_life_s(std::string_view name, Emission emission) {
  const Isotope* isotope = find_isotope(name);
  if (isotope && isotope->emission == emission) return isotope->half_life_s;
  const auto known = known_isotopes(emission);
  if (isotope)
    throw std::invalid_argument(fmt::format("{} is imaged by its {}, and these data are of {} (known: {})", name,
                                            words_of(isotope->emission), words_of(emission), fmt::join(known, ", ")));
  throw std::invalid_argument(
      fmt::format("the half-life of '{}' is not known (known: {}): give half_life_s", name, fmt::join(known, ", ")));
}

std::vector<double> photopeaks_keV(std::string_view name) {
  const Isotope* isotope = find_isotope(name);
  if (!isotope) {
    std::vector<std::string_view> known;
    known.reserve(isotopes.size());
    for (const Isotope& one : isotopes) known.push_back(one.name);
    throw std::invalid_argument(
        fmt::format("the photons of '{}' are not known (known: {})", name, fmt::join(known, ", ")));
  }
  std::vector<double> energies(isotope->photopeaks_keV.begin(), isotope->photopeaks_keV.end());
  std::erase(energies, 0.0);
  return energies;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
