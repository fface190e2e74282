// Attenuation at a photon's energy from CT numbers, by the bilinear law: air and water are mixed below a break near
// 0 HU, water and bone above (Bai et al. 2003; Burger et al. 2002; at 511 keV by tube voltage, Carney et al. 2006).
#pragma once

namespace tofstream {

/// Linear attenuation in 1/cm of water (1 g/cm3) and of cortical bone (ICRU-44, 1.92 g/cm3): NIST's tables of mass
/// attenuation coefficients (Hubbell and Seltzer 1995), interpolated in the logarithms of both. Throws
/// std::invalid_argument for energies outside [30, 1000] keV.
double water_mu_per_cm(double energy_keV);
double cortical_bone_mu_per_cm(double energy_keV);

/// The effective energy of a CT's X-rays that is taken where nobody knows better.
inline constexpr double usual_ct_keV = 75;

/// Whether photons of this energy are those of positrons, for which the law by tube voltage was measured.
bool is_annihilation_energy(double energy_keV);

class HounsfieldToMu {
 public:
  /// For photons of `energy_keV`, from a CT whose X-rays are absorbed as those of `ct_keV` (a tube of 120 to 140 kV:
  /// 70 to 80 keV): there cortical bone has 1000 (mu_bone / mu_water - 1) HU. mu in 1/cm is mu_water (1 + HU / 1000),
  /// at least 0, up to 0 HU; above mu_water + HU (mu_bone - mu_water) / HU_bone. Throws as water_mu_per_cm does.
  HounsfieldToMu(double energy_keV, double ct_keV);

  /// For photons of 511 keV, from a tube of `kvp`, with the coefficients that Carney et al. (Med Phys 33:976, 2006)
  /// fitted: mu in 1/cm is 9.6e-5 (HU + 1000), at least 0, up to the tube's break; above a (HU + 1000) + b. The lines
  /// meet there to 2e-5. Throws std::invalid_argument for another voltage than 80, 100, 110, 120, 130 and 140 kV:
  /// the coefficients are no smooth function of it.
  static HounsfieldToMu of_tube(double kvp);

  float operator()(float hounsfield) const;

  double water() const { return per_hounsfield_below_ * 1000; }
  /// Where the line between air and water ends.
  double break_hounsfield() const { return break_; }
  /// The CT number at which the law has cortical bone's attenuation.
  double bone_hounsfield() const { return bone_hounsfield_; }

 private:
  HounsfieldToMu() = default;

  double per_hounsfield_below_ = 0, break_ = 0, per_hounsfield_above_ = 0, at_0_above_ = 0, bone_hounsfield_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
