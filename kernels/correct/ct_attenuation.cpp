// The bilinear law: see ct_attenuation.hpp.
#include "kernels/correct/ct_attenuation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

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

HounsfieldToMu::HounsfieldToMu(double energy_keV, double ct_keV)
    : water_(water_mu_per_cm(energy_keV)),
      bone_(cortical_bone_mu_per_cm(energy_keV)),
      bone_hounsfield_(1000 * (cortical_bone_mu_per_cm(ct_keV) / water_mu_per_cm(ct_keV) - 1)) {}

float HounsfieldToMu::operator()(float hounsfield) const {
  const auto ct = static_cast<double>(hounsfield);
  constexpr double water_to_air = 1000;
  if (ct <= 0) return static_cast<float>(water_ * std::max(0.0, 1 + ct / water_to_air));
  return static_cast<float>(water_ + ct * (bone_ - water_) / bone_hounsfield_);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
