// The fixed-point scale of each tile's sums in a back projection. It follows from a histogram of the exponents of the
// tile's ratios: counts are whole numbers, so that the scale does not depend on the order in which they are counted. A
// ratio is what a visit adds back: scale / expectation in an EM step, else its event's value times its scale.
#pragma once

#include <cstdint>

#include "kernels/math/fixed_point.hpp"
#include "kernels/project/tiled/visit_plan.hpp"

namespace tofstream::tiled {

/// The largest exponent of a ratio that is summed in fixed point: the coarsest scale, 2^-105, has room for 2^32 of
/// them.
inline constexpr int highest_exponent = exponent_bias + 96;
/// Neighbouring exponents, of which deterministic sums take one band after the other.
inline constexpr int exponents_a_band = 16, exponent_bands = exponents / exponents_a_band;

struct TileScale {
  float too_large;  // ratios of this size on would leave too few bits for the others: they are added one by one
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

/// What the blocks of a back projection share.
struct BackState {
  std::uint32_t next_item, outliers;  // both zero when the scales are chosen
  std::uint32_t negative_pass;        // the last ValuesOfEvents::pass of which a value was negative
};

/// The ratios of an EM step, none of which is negative.
struct RatiosBySlot {
  const std::uint32_t* slots;  // of a visit
  const float* ratios;         // of a slot
};

/// Values of either sign.
struct ValuesOfEvents {
  const VisitEvent* visit_events;  // of a visit
  const float* values;             // of an event; null for ones
  float unit;                      // what the scales of events lack
  std::uint32_t pass;              // another number than other passes have, and not 0
};

/// The ratios of all visits in the visits' order; and a scale for each tile, so that the sums of what any of its items
/// adds to a voxel fit 30 bits and a sign (which leaves one for the rounding of addends), and each addend the 23 bits
/// of a denormal float, where no weight is larger than `largest_weight`. `result` has room for the tiles. Queued on the
/// stream. `given`: RatiosBySlot, whose slots may lie where `ratios` do, or ValuesOfEvents.
template <class Given>
void find_scales(const VisitView& plan, std::int64_t visits, const Given& given, float* ratios, float largest_weight,
                 TileScales& result, BackState* state, Stream stream);

}  // namespace tofstream::tiled
// SPDX-License-Identifier: Apache-2.0
