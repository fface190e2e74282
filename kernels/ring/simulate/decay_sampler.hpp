// Draws decays along lines that a ring may see, preferring those that are likely to be recorded: solids are cut into
// cells, directions into bins, and each pair of them is drawn in proportion to an estimate of its best chance
// (importance sampling, which a weight undoes). Only the parts of a cell that may hold activity are drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/simulate/alias_table.hpp"
#include "kernels/simulate/phantom.hpp"

namespace tofstream {

/// What lines a ring can see: both ends meet the circle of this radius within the half length.
struct RingBounds {
  double radius_mm = 0, half_length_mm = 0;
};

/// A decay and the unit direction of one of its photons; the other's is opposite. A decay is kept `weight` x chance
/// times (mostly a probability; above 1 it counts more than once): kept decays then happen at the rate of those that
/// pass a test of that chance.
struct Decay {
  Vec3d point_mm, direction;
  double weight = 1;
  double ahead_mm = 0, behind_mm = 0;  // from the point along the line to the circle of the ring's radius
};

class DecaySampler {
 public:
  /// The chance that the photons of a decay are recorded, as a guide for the draws.
  using Chance = std::function<double(const Decay&)>;

  /// `range_mm` is the sigma of a Gaussian positron range, along each axis. Throws
  /// std::invalid_argument where the phantom has no activity or is too wide for the ring.
  DecaySampler(const Phantom& phantom, RingBounds ring, const Chance& chance, double range_mm);

  /// Draws a second, which together with `draw` makes a Poisson process.
  double rate() const { return rate_; }
  /// None where the draw falls outside its solid or no line from it meets the ring.
  std::optional<Decay> draw(const Phantom& phantom, RandomStream& random) const;

 private:
  struct Cell {
    std::uint32_t solid;
    Vec3 low, size;                        // in the unit shape's cube
    std::uint32_t first_cover, end_cover;  // of covers_: solids that may take points from it
    std::uint32_t first_part, parts;       // of parts_: where it may hold activity
  };
  bool may_hold(const Phantom& phantom, const Cell& cell, Vec3d low, Vec3d high) const;
  bool covered(const Phantom& phantom, const Cell& cell, Vec3d point) const;
  void add_cells(const Phantom& phantom, std::uint32_t solid, double edge_mm);
  std::vector<double> rates_of_pairs(const Phantom& phantom, const Chance& chance);
  std::optional<Decay> draw_from(const Phantom& phantom, std::size_t pair, RandomStream& random) const;

  RingBounds ring_;
  double range_mm_;
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> covers_;
  std::vector<std::uint8_t> parts_;  // x + parts_an_edge * (y + parts_an_edge * z) in the cell
  // The largest product that each pair, direction bin + direction_bins * cell, is expected to have of the share of
  // lines that the ring sees and their chance.
  std::vector<float> best_;
  double rate_ = 0;
  AliasTable table_;  // of pairs
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
