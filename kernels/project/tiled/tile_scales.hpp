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

/// What the slots of a back projection hold.
enum class Source {
  ratios,  // of an EM step, none negative; its forward projection has listed the visits' slots where ratios come
  values,  // of either sign
};

/// Where the slots of visits are listed in their order, or are to be.
struct SlotList {
  std::uint32_t* slots;
  bool is_listed;
};

/// The ratios of all visits, given by slot, in the visits' order; and a scale for each tile, so that the sums of what
/// any of its items adds to a voxel fit 30 bits and a sign (which leaves one for the rounding of addends), and each
/// addend the 23 bits of a denormal float, where no weight is larger than `largest_weight`. `any_negative` becomes 1
/// where a value is negative. `result` has room for the tiles. Queued on the stream. `ratios` may lie where slots are
/// listed.
void find_scales(const VisitView& plan, std::int64_t visits, Source source, SlotList list, const float* by_slot,
                 float* ratios, float largest_weight, TileScales& result, std::uint32_t* any_negative, Stream stream);

}  // namespace tofstream::tiled
