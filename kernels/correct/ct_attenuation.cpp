// The bilinear law: see ct_attenuation.hpp.
#include "kernels/correct/ct_attenuation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "kernels/correct/isotopes.hpp"

namespace tofstream {

namespace {

struct MassAttenuation {
  double energy_keV, water, bone;  // cm2/g
};

constexpr std::array mass_attenuation = {
    MassAttenuation{30, 0.3756, 1.331},     MassAttenuation{40, 0.2683, 0.6655},
    MassAttenuation{50, 0.2269, 0.4242},    MassAttenuation{60, 0.2059, 0.3148},
    MassAttenuation{80, 0.1837, 0.2229},    MassAttenuation{100, 0.1707, 0.1855},
    MassAttenuation{150, 0.1505, 0.1480},   MassAttenuation{200, 0.1370, 0.1309},
    MassAttenuation{300, 0.1186, 0.1113},   MassAttenuation{400, 0.1061, 0.09908},
    MassAttenuation{500, 0.09687, 0.09022}, MassAttenuation{600, 0.08956, 0.08332},
    MassAttenuation{800, 0.07865, 0.07308}, MassAttenuation{1000, 0.07072, 0.06566},
};

constexpr double water_to_air = 1000;  // HU

// Carney et al. 2006: a and b in 1/cm, and the break, in HU.
struct Tube {
  double kvp, a, b, break_hounsfield;
};

constexpr std::array tubes = {
    Tube{80, 3.64e-5, 6.26e-2, 50},  Tube{100, 4.43e-5, 5.44e-2, 52}, Tube{110, 4.92e-5, 4.88e-2, 43},
    Tube{120, 5.10e-5, 4.71e-2, 47}, Tube{130, 5.51e-5, 4.24e-2, 37}, Tube{140, 5.64e-5, 4.08e-2, 30},
};

double mass_attenuation_at(double energy_keV, double MassAttenuation::*material) {
  const double lowest = mass_attenuation.front().energy_keV, highest = mass_attenuation.back().energy_keV;
  if (!(energy_keV >= lowest && energy_keV <= highest))
    throw std::invalid_argument(
        fmt::format("photons of {:g} keV: attenuation is known from {:g} to {:g} keV", energy_keV, lowest, highest));
  const auto* above = std::ranges::lower_bound(mass_attenuation.begin() + 1, mass_attenuation.end(), energy_keV, {},
                                               &MassAttenuation::energy_keV);
  const auto* below = above - 1;
  const double part = std::log(energy_keV / below->energy_keV) / std::log(above->energy_keV / below->energy_keV);
  return below->*material * std::pow(above->*material / below->*material, part);
}

}  // namespace

double water_mu_per_cm(double energy_keV) {
  return mass_attenuation_at(energy_keV, &MassAttenuation::water);
}

double cortical_bone_mu_per_cm(double energy_keV) {
  constexpr double g_per_cm3 = 1.92;
  return g_per_cm3 * mass_attenuation_at(energy_keV, &MassAttenuation::bone);
}

bool is_annihilation_energy(double energy_keV) {
  constexpr double rounding = 0.5;
  return std::abs(energy_keV - annihilation_keV) < rounding;
}

HounsfieldToMu::HounsfieldToMu(double energy_keV, double ct_keV)
    : per_hounsfield_below_(water_mu_per_cm(energy_keV) / water_to_air),
      at_0_above_(water_mu_per_cm(energy_keV)),
      bone_hounsfield_(water_to_air * (cortical_bone_mu_per_cm(ct_keV) / water_mu_per_cm(ct_keV) - 1)) {
  per_hounsfield_above_ = (cortical_bone_mu_per_cm(energy_keV) - at_0_above_) / bone_hounsfield_;
}

HounsfieldToMu HounsfieldToMu::of_tube(double kvp) {
  const auto* tube = std::ranges::find(tubes, kvp, &Tube::kvp);
  if (tube == tubes.end())
    throw std::invalid_argument(
        fmt::format("a tube of {:g} kV: the law at 511 keV is known for 80, 100, 110, 120, 130 and 140 kV", kvp));
  HounsfieldToMu law;
  law.per_hounsfield_below_ = 9.6e-5;
  law.break_ = tube->break_hounsfield;
  law.per_hounsfield_above_ = tube->a;
  law.at_0_above_ = tube->a * water_to_air + tube->b;
  law.bone_hounsfield_ = (cortical_bone_mu_per_cm(annihilation_keV) - law.at_0_above_) / tube->a;
  return law;
}

float HounsfieldToMu::operator()(float hounsfield) const {
  const auto ct = static_cast<double>(hounsfield);
  if (ct <= break_) return static_cast<float>(std::max(0.0, per_hounsfield_below_ * (ct + water_to_air)));
  return static_cast<float>(at_0_above_ + per_hounsfield_above_ * ct);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
