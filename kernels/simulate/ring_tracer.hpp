// Where a photon interacts in a ring scanner: its module's slab, the depth after a given number of
// mean free paths, and the crystal there. Gaps are as dense as crystals, but blind.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/simulate/ring_scanner.hpp"

namespace tofstream {

class RingTracer {
 public:
  struct Hit {
    std::uint32_t detector = 0, module = 0;
    double path_mm = 0;  // from the photon's origin to its interaction
  };

  explicit RingTracer(const RingScanner& ring);
  /// The interaction of a photon from a point within the inner radius along a unit direction; none
  /// where it happens in a gap, beyond an end or behind the crystals.
  std::optional<Hit> trace(Vec3d origin_mm, Vec3d direction, double free_paths) const;
  bool in_coincidence(std::uint32_t module1, std::uint32_t module2) const;

 private:
  struct Normal {
    double x, y;
  };
  /// Divides an axis into cells of `pitch` whose middle `size` is sensitive.
  struct Cells {
    int count;
    double pitch, half_size;
    /// The cell at `x` from the middle of the row, with x reduced to its distance from the cell's
    /// centre; -1 outside.
    int find(double& x) const;
  };
  int sector_towards(Vec3d origin, Vec3d direction, double& path) const;

  int sectors_, min_sector_difference_, max_ring_difference_;
  double radius_, wedge_;  // wedge_: tangent of half the angle of a sector
  std::vector<Normal> normals_;
  std::vector<double> layer_back_mm_, layer_per_mm_;  // depth of each layer's back; attenuation
  Cells rings_, across_, along_;
};

}  // namespace tofstream
