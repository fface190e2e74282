// Draws decays along lines that a ring may see, preferring those that are likely to be
// recorded: solids are cut into cells, directions into bins, and each pair of them is drawn in
// proportion to an estimate of its best chance (importance sampling, which a weight undoes).
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

/// A decay and one of its photons' unit directions; the other's is opposite. Keeping it `weight` x
/// survival times (mostly a probability; above 1 the decay counts more than once) makes kept decays
/// happen at the rate of those whose photons leave the phantom.
struct Decay {
  Vec3d point_mm, direction;
  double weight = 1;
};

class DecaySampler {
 public:
  /// `range_mm` is the sigma of a Gaussian positron range, along each axis. Without `attenuation`
  /// all bounds are 1. Throws std::invalid_argument where the phantom has no activity or is too
  /// wide for the ring.
  DecaySampler(const Phantom& phantom, RingBounds ring, bool attenuation, double range_mm);

  /// Draws a second, which together with `draw` makes a Poisson process.
  double rate() const { return rate_; }
  /// None where the draw falls outside its solid or no line from it meets the ring.
  std::optional<Decay> draw(const Phantom& phantom, RandomStream& random) const;

 private:
  struct Cell {
    std::uint32_t solid;
    Vec3 low, size;                        // in the unit shape's cube
    std::uint32_t first_cover, end_cover;  // of covers_: solids that may take points from it
  };
  bool covered(const Phantom& phantom, const Cell& cell, Vec3d point) const;
  void add_cells(const Phantom& phantom, std::uint32_t solid, double edge_mm);
  std::vector<double> rates_of_pairs(const Phantom& phantom);
  std::optional<Decay> draw_from(const Phantom& phantom, std::size_t pair, RandomStream& random) const;

  RingBounds ring_;
  bool attenuation_;
  double range_mm_;
  std::size_t direction_bins_;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> covers_;
  // Of each pair, direction bin + direction_bins_ * cell: the largest product expected of the share
  // of lines that the ring sees and their survival.
  std::vector<float> best_;
  double rate_ = 0;
  AliasTable table_;  // of pairs
};

}  // namespace tofstream
