// Attenuation at a photon's energy from CT numbers, by the bilinear law: air and water are mixed below 0 HU, water and
// cortical bone above (Bai et al. 2003; Burger et al. 2002).
#pragma once

namespace tofstream {

/// Linear attenuation in 1/cm of water (1 g/cm3) and of cortical bone (ICRU-44, 1.92 g/cm3): NIST's tables of mass
/// attenuation coefficients (Hubbell and Seltzer 1995), interpolated in the logarithms of both. Throws
/// std::invalid_argument for energies outside [30, 1000] keV.
double water_mu_per_cm(double energy_keV);
double cortical_bone_mu_per_cm(double energy_keV);

/// The effective energy of a CT's X-rays that is taken where nobody knows better.
inline constexpr double usual_ct_keV = 75;

class HounsfieldToMu {
 public:
  /// For photons of `energy_keV`, from a CT whose X-rays are absorbed as those of `ct_keV` (a tube of 120 to 140 kV:
  /// 70 to 80 keV): there cortical bone has 1000 (mu_bone / mu_water - 1) HU. Throws as water_mu_per_cm does.
  HounsfieldToMu(double energy_keV, double ct_keV);

  /// mu in 1/cm: mu_water (1 + HU / 1000), at least 0, up to 0 HU; above mu_water + HU (mu_bone - mu_water) / HU_bone.
  float operator()(float hounsfield) const;

  double water() const { return water_; }
  double bone_hounsfield() const { return bone_hounsfield_; }

 private:
  double water_, bone_, bone_hounsfield_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
