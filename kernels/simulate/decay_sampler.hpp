// Draws decays along lines that a ring may see, preferring those that are likely to leave the
// phantom: solids are cut into cells, directions into bins, and each pair of them is drawn in
// proportion to an estimate of its best survival (importance sampling; Poisson thinning undoes it).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/simulate/alias_table.hpp"
#include "kernels/simulate/phantom.hpp"

namespace tofstream {

/// What lines a ring can see: both ends meet the circle of this radius within the half length.
struct RingBounds {
  double radius_mm = 0, half_length_mm = 0;
};

/// A decay, one of its photons' unit directions (the other's is opposite), and the factor by which
/// it was drawn less often than it happens: keeping it with probability survival / bound, whatever
/// the bound, makes kept decays happen at the rate of those whose photons leave the phantom.
struct Decay {
  Vec3d point_mm, direction;
  double bound = 1;
};

class DecaySampler {
 public:
  /// `range_mm` is the sigma of a Gaussian positron range, along each axis. Without `attenuation`
  /// all bounds are 1. Throws std::invalid_argument where the phantom has no activity or is too
  /// wide for the ring.
  DecaySampler(const Phantom& phantom, RingBounds ring, bool attenuation, double range_mm);

  /// Draws a second, which together with `draw` makes a Poisson process.
  double rate() const { return rate_; }
  /// None where the draw falls outside its solid or its line misses the ring.
  std::optional<Decay> draw(const Phantom& phantom, RandomStream& random) const;

 private:
  struct Cell {
    std::uint32_t solid;
    Vec3 low, size;    // in the unit shape's cube
    float max_cosine;  // of lines that the ring may see
  };
  void add_cells(const Phantom& phantom, std::uint32_t solid, double edge_mm);
  std::vector<double> estimate_bounds(const Phantom& phantom);
  std::optional<Decay> draw_from(const Phantom& phantom, std::size_t pair,
                                 RandomStream& random) const;
  bool may_be_seen(Vec3d point, Vec3d direction) const;

  RingBounds ring_;
  bool attenuation_;
  double range_mm_;
  std::size_t direction_bins_;
  std::vector<Cell> cells_;
  std::vector<float> bounds_;  // of each pair: direction bin + direction_bins_ * cell
  double rate_ = 0;
  AliasTable table_;  // of pairs
};

}  // namespace tofstream
