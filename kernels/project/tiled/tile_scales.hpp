// The fixed-point scale of each tile's sums in a back projection. It comes from how many visits of the tile have a
// ratio of which power of two: whole numbers, so that it does not depend on the order in which they are counted.
#pragma once

#include <cstdint>

#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// Exponents of floats as their bits have them.
inline constexpr int exponents = 256, exponent_bias = 127;
/// Neighbouring exponents, of which deterministic sums take one band after the other.
inline constexpr int exponents_a_band = 16, exponent_bands = exponents / exponents_a_band;

struct TileScale {
  float too_large;  // ratios from here on would leave too few bits for the others: they are added one by one
  int shift;        // the others are multiplied by 2^shift
};

/// What the scales of all tiles are to agree on.
struct ScaleRange {
  int highest_shift, lowest_shift;
  std::uint32_t outlier_bands;  // bit b: some ratio is too large whose exponent is one of band b
};

/// What find_scales needs and finds, on the current CUDA device.
struct TileScales {
  /// Room for so many tiles. Throws OutOfMemory, before a pass has begun: see Workspace::prepare.
  void fit(int tiles, Stream stream);

  Buffer<std::uint32_t> histogram;  // [tile][exponent], zeros between passes
  Buffer<TileScale> scales;         // a tile
  Buffer<ScaleRange> range = Buffer<ScaleRange>(Memory::device, 1);
};

/// The ratios of all visits (each at least 0), given by slot, in the visits' order, in place of the bits of their
/// slots; and a scale for each tile, so that the sums of what any of its items adds to a voxel fit 30 bits (which
/// leaves one for the rounding of addends), and each addend the 23 bits of a denormal float, where no weight is larger
/// than `largest_weight`. `next_forward` becomes 0. `result` has room for the tiles. Queued on the stream.
void find_scales(const VisitView& plan, std::int64_t visits, const float* by_slot, float* ratios, float largest_weight,
                 TileScales& result, std::uint32_t* next_forward, Stream stream);

}  // namespace tofstream::tiled
