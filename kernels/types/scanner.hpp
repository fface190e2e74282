// A scanner as kernels see it: detectors (crystals or depth layers), which pairs count
// coincidences, and how efficiently. Efficiencies follow PETSIRD: calibration x detector1 x
// detector2 x pair table of the two modules, summed over energy bins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/geometric_efficiency.hpp"
#include "kernels/types/live_pattern.hpp"
#include "kernels/types/rigid_pose.hpp"

namespace tofstream {

class RecordedLines;

/// What energies detectors accept, and how well they know them; zeros: not known.
struct EnergyResponse {
  float low_keV = 0, high_keV = 0;
  float resolution = 0;  // full width at half maximum at 511 keV, as a share of it
};

/// The detectors of one kind of module, numbered module after module from `first_detector` on.
struct ModuleType {
  std::uint32_t first_detector = 0;
  std::uint32_t first_module = 0;
  std::uint32_t modules = 0;
  std::uint32_t elements = 1;  // detectors a module
  std::uint32_t energy_bins = 1;
  std::uint64_t first_bin = 0;  // into Scanner::bin_efficiency: bin = first_bin + energy +
                                // energy_bins * (detector - first_detector)
  Vec3 element_size_mm;         // edges of the box about the first element, along the scanner's axes; zero: not known
  EnergyResponse energy;
  float free_paths = 0;  // of photons of 511 keV, from an element's face to its back; 0: not known
};

/// Relative efficiencies of the pairs between two modules: values[(element1 * energies1 + energy1)
/// * columns + element2 * energies2 + energy2].
struct ModulePairTable {
  std::vector<float> values;
  std::uint32_t columns = 0;
};

struct Scanner {
  std::string name;
  std::shared_ptr<const DetectorTable> detectors;  // points at which photons are taken as detected, scanner frame
  std::vector<ModuleType> types;
  std::vector<TofModel> tof;  // [type1 * types + type2]; empty: non-ToF
  float calibration = 1;
  std::vector<float> bin_efficiency;           // per detection bin; empty: 1
  std::vector<std::int32_t> module_pair;       // [module1 * modules() + module2]: index into pair_tables, -1: not in
                                               // coincidence; empty: all pairs of different modules count
  std::vector<ModulePairTable> pair_tables;    // empty: 1 for every pair in coincidence
  GeometricEfficiency geometric;               // one more factor of every pair's efficiency; empty: 1
  std::shared_ptr<const RecordedLines> lines;  // of a histogram: what counts are these and not pairs; null: pairs
  std::shared_ptr<const LivePattern> live;     // one more factor of every pair's efficiency; null: 1
  // Where it stood to the object, and how long, which a sensitivity has; null: `detectors` say where.
  std::shared_ptr<const PoseShares> poses;

  std::uint32_t modules() const;
  const ModuleType& type_of(std::uint32_t detector) const;
  std::uint32_t type_index(std::uint32_t detector) const;
  std::uint32_t module_of(std::uint32_t detector) const;
  /// True where the scanner can record coincidences of the two detectors.
  bool in_coincidence(std::uint32_t detector1, std::uint32_t detector2) const;
  /// Efficiency of an LOR, summed over energy bins; 0 for pairs not in coincidence. Detectors in
  /// the order of events: type1 > type2, or detector1 >= detector2 (put into that order here).
  float efficiency(std::uint32_t detector1, std::uint32_t detector2) const;
  /// Throws std::invalid_argument that names the first table whose size or index is wrong.
  void validate() const;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
