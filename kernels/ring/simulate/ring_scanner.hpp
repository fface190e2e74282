// A cylindrical PET scanner by its dimensions: flat modules of crystals on a regular polygon, repeated along the axis.
// Gives the kernels' tables and the boxes and rigid transforms of a PETSIRD header (PETSIRD's order: element transform,
// then module transform).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/types/scanner.hpp"

namespace tofstream {

/// One depth layer of the crystals; the first is the one that photons meet first.
struct CrystalLayer {
  double depth_mm = 20;
  double attenuation_per_cm = 0.83;  // of 511 keV photons in the scintillator
  /// Where the photons that it stops interact on average, below its face (interaction_depth.hpp).
  double mean_depth_mm() const;
};

struct RingScanner {
  std::string name = "ring";
  double inner_radius_mm = 400;  // to the middle of a module's crystal face
  int modules_transaxial = 1, modules_axial = 1;
  int crystals_transaxial = 1, crystals_axial = 1;  // of one module
  double crystal_transaxial_mm = 4, crystal_axial_mm = 4;
  double pitch_transaxial_mm = 4, pitch_axial_mm = 4;  // between centres of crystals in a module
  double module_pitch_axial_mm = 4;                    // between centres of modules
  std::vector<CrystalLayer> layers = {CrystalLayer{}};
  double tof_fwhm_ps = 0;            // of the time difference; 0: no ToF
  int tof_bins = 0;                  // 0: ToF is recorded unbinned, within the coincidence window
  double tof_bin_ps = 0;             // of the time difference
  double coincidence_window_ns = 4;  // largest |t1 - t2| of a coincidence
  double energy_low_keV = 435, energy_high_keV = 650;
  double energy_resolution = 0.12;           // FWHM / 511 keV
  int min_sector_difference = 1;             // of two modules in coincidence, counted around the ring
  int max_module_ring_difference = 1 << 20;  // of two modules in coincidence, counted in rings of modules
  double crystal_efficiency_spread = 0;      // efficiencies of crystals are uniform in [1 - spread, 1], always the same
  double fov_radius_mm = 0;  // transaxial field of view that images default to; 0: 0.75 of inner_radius_mm

  std::int64_t modules() const { return std::int64_t{modules_transaxial} * modules_axial; }
  std::int64_t elements() const {
    return std::int64_t{crystals_transaxial} * crystals_axial * static_cast<std::int64_t>(layers.size());
  }
  std::int64_t detectors() const { return modules() * elements(); }
  double depth_mm() const;         // of all layers
  double axial_length_mm() const;  // from the first crystal's edge to the last's
  /// Sigma of the ToF position along the LOR in mm: (c/2) fwhm_ps / 2.354820.
  double tof_sigma_mm() const;
  /// Width of a ToF bin in mm along the LOR; 0 where unbinned.
  double tof_bin_mm() const;
  /// ToF of a coincidence lies within +- this, in mm along the LOR: the bins' range, else the
  /// coincidence window's.
  double tof_window_mm() const;
  /// Edges of the ToF bins in mm, ascending, as a PETSIRD header holds them; unbinned or no ToF:
  /// one bin that spans the window.
  std::vector<double> tof_bin_edges_mm() const;
};

/// Throws std::invalid_argument that names the first figure out of range, or crystals that do not
/// fit their pitch, or modules that do not fit the ring.
void validate(const RingScanner& ring);

/// Row-major 3x4: x -> A x + b, in mm.
using RigidTransform = std::array<float, 12>;

/// What a PETSIRD header says of geometry. Detector = element + elements * module; element =
/// transaxial + crystals_transaxial * (axial + crystals_axial * layer); module = sector + sectors *
/// ring. A module's frame has x outwards from the middle of its face, y with the sense of rotation,
/// z along the scanner. A module has one box shape, so layers of different depth share a box
/// of their mean depth; every centre is exact.
struct RingGeometry {
  std::array<Vec3, 8> crystal_corners;  // of one crystal, about its centre
  std::vector<RigidTransform> element_transforms;
  std::vector<RigidTransform> module_transforms;
};
RingGeometry ring_geometry(const RingScanner& ring);
Vec3d apply(const RigidTransform& transform, Vec3d point);

/// The kernels' scanner: detectors at the mean depth of interaction of photons that come along their
/// crystals (a layer of a crystal is a detector of its own), module pairs in coincidence, ToF, and `geometric`
/// efficiencies that match EventSimulator, scaled so that efficiency(i, j) x line integral in mm of the activity in
/// Bq/mL = trues per second without attenuation. Throws as validate() does.
std::shared_ptr<const Scanner> make_scanner(const RingScanner& ring);

/// The same efficiencies as tables by classes of module pairs (same step around the ring and along
/// the axis), as a PETSIRD header needs them; `geometric` is empty in the result. Null where the
/// tables would exceed `max_bytes`.
std::shared_ptr<const Scanner> with_efficiency_tables(const RingScanner& ring,
                                                      std::size_t max_bytes = std::size_t{1} << 28);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
