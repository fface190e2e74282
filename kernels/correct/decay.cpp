// Half-lives and decay factors: see decay.hpp.
#include "kernels/correct/decay.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tofstream {

namespace {

struct Isotope {
  std::string_view name;
  double half_life_s;
};

// NUBASE2020 (F. G. Kondev et al., Chin. Phys. C 45 (2021) 030001); N-13: European Pharmacopoeia 5.7 (01/2008:50700);
// Ga-68: N. K. Kuzmenko, Appl. Radiat. Isot. 152 (2019) 188.
constexpr std::array isotopes = {
    Isotope{"C-11", 20.3402 * 60},   Isotope{"N-13", 9.965 * 60},      Isotope{"O-15", 122.266},
    Isotope{"F-18", 109.734 * 60},   Isotope{"Cu-64", 12.7004 * 3600}, Isotope{"Ga-68", 67.83 * 60},
    Isotope{"Zr-89", 78.360 * 3600},
};

}  // namespace

std::vector<std::string> known_isotopes() {
  std::vector<std::string> names;
  for (const Isotope& isotope : isotopes) names.emplace_back(isotope.name);
  return names;
}

double half_life_s(std::string_view name) {
  for (const Isotope& isotope : isotopes)
    if (isotope.name == name) return isotope.half_life_s;
  throw std::invalid_argument(fmt::format("the half-life of '{}' is not known (known: {}): give half_life_s", name,
                                          fmt::join(known_isotopes(), ", ")));
}

double mean_decay(double start_s, double duration_s, double half_life_s) {
  if (!(half_life_s > 0 && std::isfinite(half_life_s)))
    throw std::invalid_argument(fmt::format("a half-life must be finite and positive, not {} s", half_life_s));
  if (!(duration_s >= 0))
    throw std::invalid_argument(fmt::format("decay over {} s: a duration cannot be negative", duration_s));
  const double rate = std::numbers::ln2 / half_life_s, at_start = std::exp(-rate * start_s);
  const double x = rate * duration_s;
  return x > 0 ? at_start * -std::expm1(-x) / x : at_start;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
