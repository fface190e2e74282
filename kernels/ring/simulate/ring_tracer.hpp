// Where a photon interacts in a ring scanner: the module's slab that it enters, the depth after a given
// number of mean free paths, and the crystal there. Gaps are as dense as crystals, but blind.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ring/simulate/ring_scanner.hpp"

namespace tofstream {

class RingTracer {
 public:
  struct Hit {
    std::uint32_t detector = 0, module = 0;
    double path_mm = 0;  // from the photon's origin to its interaction
  };

  struct Entry {
    int sector;
    double path_mm, cosine;  // from the photon's origin to the slab's face, and the cosine to its normal there
  };

  explicit RingTracer(const RingScanner& ring);
  /// The slab that a photon from a point within the inner radius enters along a unit direction, not
  /// that of the axis; slabs have no ends along the axis. The search begins where the photon is
  /// `circle_mm` from the point, best where it crosses the circle of the inner radius.
  Entry enter(Vec3d origin_mm, Vec3d direction, double circle_mm) const;
  /// The chance that the photon interacts before it leaves the slab's back. `attenuation`: of the crystals for it, over
  /// that for one of 511 keV.
  double stopping(const Entry& entry, double attenuation = 1) const {
    return 1 - std::exp(-attenuation * free_paths_ / entry.cosine);
  }
  /// The interaction after that many mean free paths of 511 keV in the slab; none where that is in a gap, beyond
  /// an end or behind the crystals.
  std::optional<Hit> interact(Vec3d origin_mm, Vec3d direction, const Entry& entry, double free_paths) const;
  bool in_coincidence(std::uint32_t module1, std::uint32_t module2) const;

 private:
  struct Normal {
    double x, y;
  };
  /// Divides an axis into cells of `pitch` whose middle `size` is sensitive.
  struct Cells {
    Cells(int cells, double pitch_mm, double size_mm)
        : count(cells), pitch(pitch_mm), per_mm(1 / pitch_mm), half_size(0.5 * size_mm) {}
    int count;
    double pitch, per_mm, half_size;
    /// The cell at `x` from the middle of the row, with x reduced to its distance from the cell's
    /// centre; -1 outside.
    int find(double& x) const;
  };
  static Cells ring_cells(const RingScanner& ring);
  int sector_near(Vec3d point) const;
  int next_sector(int sector, double across) const {
    return across > 0 ? (sector + 1 < sectors_ ? sector + 1 : 0) : (sector > 0 ? sector : sectors_) - 1;
  }

  int sectors_, min_sector_difference_, max_ring_difference_;
  double radius_, wedge_;  // wedge_: tangent of half the angle of a sector
  double free_paths_ = 0;  // straight through all layers
  std::vector<Normal> normals_;
  std::vector<int> sectors_near_;                     // by equal steps of y / (|x| + |y|) around the ring
  std::vector<double> layer_back_mm_, layer_per_mm_;  // depth of each layer's back; attenuation
  Cells rings_, across_, along_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
