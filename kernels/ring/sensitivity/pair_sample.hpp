// Which pairs of a scanner's list are projected, with what weight: all of them, a lattice of them, or a stratified
// sample; and which of these can touch the image. The host and a CUDA device choose alike, bit for bit. Internal to
// the sensitivity.
#pragma once

#include <cstdint>

#include "kernels/math/counter_random.hpp"
#include "kernels/math/host_device.hpp"
#include "kernels/math/lanes.hpp"
#include "kernels/ring/sensitivity/pair_list.hpp"
#include "kernels/types/grid.hpp"

namespace tofstream::detail {

/// Every `step`-th pair of a list, evenly chosen: of each `step` neighbours in the list the one whose detector2 +
/// multiplier detector1 + shift is a multiple of `step`, with a shift drawn for each pair of modules, so that every
/// pair is as likely (a rank-1 lattice with random shifts: R. Cranley and T. N. L. Patterson, SIAM J Numer Anal
/// 13:904, 1976). With a good multiplier such lines cover an image far more evenly than lines drawn at random. `step`
/// is so many times a prime as there are replicates, which have shifts of their own, evenly spaced; together they are
/// the lattice of that prime.
struct PairLattice {
  std::int32_t step = 0;  // 0: none
  std::int32_t multiplier = 0;
};

/// All `pairs` of a list, or a lattice of them, or one pair from each of `cells` cells of equal size. A sample's cells
/// are cut into groups of `replicates`, a prime, and each replicate draws one cell of every group: replicate r the
/// cell shift + r stride (mod replicates), shift and stride drawn for the group. Any two replicates are then like two
/// cells drawn at random, as the estimate from their spread assumes.
struct PairSample {
  std::int64_t pairs = 0;
  std::int64_t cells = 0;
  int replicates = 1;
  std::uint64_t seed = 0;
  PairLattice lattice = {};  // then `cells` are those of all replicates and poses

  TOFSTREAM_HOST_DEVICE bool exact() const { return replicates == 1; }
  TOFSTREAM_HOST_DEVICE bool is_lattice() const { return lattice.step > 0; }
  TOFSTREAM_HOST_DEVICE std::int64_t draws() const { return cells / replicates; }  // of one replicate

  struct Draw {
    std::int64_t number;  // of the pair
    float weight;         // pairs it stands for
  };
  /// The n-th draw of a replicate where there is no lattice; numbers ascend with n.
  TOFSTREAM_HOST_DEVICE Draw draw(int replicate, std::int64_t n) const {
    if (exact()) return {n, 1.0f};
    const std::uint64_t random = mixed(~seed, static_cast<std::uint64_t>(n)), prime = replicates;
    const std::uint64_t shift = (random >> 33) % prime, stride = 1 + (random & 0x7fffffff) % (prime - 1);
    const std::int64_t cell =
        n * replicates + static_cast<std::int64_t>((shift + static_cast<std::uint64_t>(replicate) * stride) % prime);
    const std::int64_t begin = cell_begin(cell), size = cell_begin(cell + 1) - begin;
    const double u = static_cast<double>(mixed(seed, static_cast<std::uint64_t>(cell)) >> 11) * 0x1p-53;
    const auto inside = static_cast<std::int64_t>(u * static_cast<double>(size));
    return {begin + (inside < size ? inside : size - 1), static_cast<float>(size) * static_cast<float>(replicates)};
  }
  /// Cells of a lattice's replicate; the last may be cut short.
  TOFSTREAM_HOST_DEVICE std::int64_t lattice_cells() const { return (pairs + lattice.step - 1) / lattice.step; }
  /// The number of the pair of a lattice's cell, of which the cursor's list has the first pair; `pairs` or more where a
  /// cell that is cut short has none. Poses of the scanner have shifts of their own.
  TOFSTREAM_HOST_DEVICE std::int64_t lattice_pair(PairCursor& cursor, int replicate, int pose,
                                                  std::int64_t cell) const {
    const std::int64_t begin = cell * lattice.step;
    const DetectorPair first = cursor.pair(begin);
    const std::uint64_t step = static_cast<std::uint64_t>(lattice.step);
    const std::uint64_t of_block = mixed(seed, static_cast<std::uint64_t>(cursor.block_begin()));
    const std::uint64_t shift = of_block % step + step / static_cast<std::uint64_t>(replicates) * replicate + pose;
    const std::uint64_t key =
        first.detector2 + first.detector1 * static_cast<std::uint64_t>(lattice.multiplier) + shift;
    return begin + static_cast<std::int64_t>((step - key % step) % step);
  }

 private:
  /// pairs * cell / cells, without a product that overflows.
  TOFSTREAM_HOST_DEVICE std::int64_t cell_begin(std::int64_t cell) const {
    return pairs / cells * cell + pairs % cells * cell / cells;
  }
};

/// The image's box grown by a projector's reach, and whether the line between two points meets it.
class Reach {
 public:
  Reach(const Grid& grid, float reach_mm) {
    for (int a = 0; a < 3; ++a) {
      low_[a] = grid.origin_mm[a] - 0.5f * grid.voxel_mm[a] - reach_mm;
      high_[a] = grid.origin_mm[a] + (static_cast<float>(grid.size[a]) - 0.5f) * grid.voxel_mm[a] + reach_mm;
    }
  }

  TOFSTREAM_HOST_DEVICE bool touches(Vec3 p, Vec3 q) const {
    float enter = 0, leave = 1;
    return clip(p, q, enter, leave);
  }
  /// The same; narrows the fractions of the line from p to q between which it lies in the box.
  TOFSTREAM_HOST_DEVICE bool clip(Vec3 p, Vec3 q, float& enter, float& leave) const {
    for (int a = 0; a < 3; ++a) {
      const float d = q[a] - p[a];
      if (d == 0) {
        if (p[a] < low_[a] || p[a] > high_[a]) return false;
        continue;
      }
      const float t1 = (low_[a] - p[a]) / d, t2 = (high_[a] - p[a]) / d;
      enter = maximum(enter, minimum(t1, t2));
      leave = minimum(leave, maximum(t1, t2));
    }
    return enter <= leave;
  }

 private:
  float low_[3], high_[3];
};

/// A pair and what it is to add for each mm of its line; 0 for one that adds nothing.
struct DrawnPair {
  DetectorPair pair;
  float value;
};

/// Where the scanner stood: tables of moved detectors, one after the other in one kind of memory, passed by value.
struct PosesView {
  const Detector* detectors = nullptr;
  const float* shares = nullptr;  // of the exposed time
  const float* ends = nullptr;    // sums of the shares up to and with each
  int count = 0;                  // 0: it stood still, where the list's detectors say
  std::uint32_t table = 0;        // detectors of one pose

  /// The pose in which a number in [0, 1) falls.
  TOFSTREAM_HOST_DEVICE int at(float u) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (ends[middle] > u)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

/// One replicate of a sample. Of a scanner in several poses all pairs, or a lattice of them, are drawn in each, or each
/// drawn pair in one pose, as often as its share says; numbers of detectors then count on through the poses' tables.
struct PairDraws {
  PairView list;
  PairSample sample;
  Reach reach;
  int replicate;
  PosesView poses = {};

  /// The n-th draw; `cursor` is a place in the list.
  TOFSTREAM_HOST_DEVICE DrawnPair draw(PairCursor& cursor, std::int64_t n) const {
    if (sample.is_lattice()) return lattice_draw(cursor, n);
    const PairSample::Draw draw = sample.draw(replicate, n);
    if (poses.count == 0) return placed(cursor, cursor.pair(draw.number), draw.weight, 0, list.detectors);
    const bool all = sample.exact();
    const std::int64_t number = all ? draw.number % sample.pairs : draw.number;
    const int pose = all ? static_cast<int>(draw.number / sample.pairs) : poses.at(chance(number));
    return placed(cursor, cursor.pair(number), all ? poses.shares[pose] : draw.weight,
                  static_cast<std::uint32_t>(pose) * poses.table, poses.detectors);
  }

 private:
  TOFSTREAM_HOST_DEVICE DrawnPair lattice_draw(PairCursor& cursor, std::int64_t n) const {
    const std::int64_t cells = sample.lattice_cells();
    const int pose = static_cast<int>(n / cells);
    const std::int64_t number = sample.lattice_pair(cursor, replicate, pose, n % cells);
    if (number >= sample.pairs) return {{}, 0.0f};
    const float share = poses.count > 0 ? poses.shares[pose] : 1.0f;
    return placed(cursor, cursor.pair(number), share * static_cast<float>(sample.lattice.step),
                  static_cast<std::uint32_t>(pose) * poses.table, poses.count > 0 ? poses.detectors : list.detectors);
  }

  /// A pair is drawn once in a sample, so its number can draw its pose.
  TOFSTREAM_HOST_DEVICE float chance(std::int64_t number) const {
    constexpr std::uint64_t other = 0x6a09e667f3bcc908u;  // another sequence than that of the numbers
    return static_cast<float>(mixed(sample.seed ^ other, static_cast<std::uint64_t>(number)) >> 40) * 0x1p-24f;
  }

  TOFSTREAM_HOST_DEVICE DrawnPair placed(PairCursor& cursor, DetectorPair pair, float weight, std::uint32_t first,
                                         const Detector* detectors) const {
    const DetectorPair at{first + pair.detector1, first + pair.detector2};
    if (!reach.touches(detectors[at.detector1].position_mm, detectors[at.detector2].position_mm)) return {at, 0.0f};
    return {at, cursor.efficiency(pair) * weight};
  }
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
