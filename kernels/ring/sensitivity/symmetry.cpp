// Which symmetries a scanner and a grid have: see symmetry.hpp.
#include "kernels/ring/sensitivity/symmetry.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cmath>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "kernels/ring/sensitivity/pair_sample.hpp"

namespace tofstream::detail {

namespace {

/// Finds detectors by their position.
class DetectorPlaces {
 public:
  static constexpr std::uint32_t none = ~0u;

  explicit DetectorPlaces(const DetectorTable& detectors)
      : detectors_(detectors), cells_(static_cast<std::size_t>(detectors.size())) {
    tbb::parallel_for(std::size_t{0}, cells_.size(), [&](std::size_t n) {
      const auto d = static_cast<std::uint32_t>(n);
      cells_[n] = {key(cell(detectors.position(d))), d};
    });
    tbb::parallel_sort(cells_.begin(), cells_.end());
  }

  /// The detector within 0.01 mm of a point, or none.
  std::uint32_t at(Vec3 p) const {
    const std::array<std::int64_t, 3> low = cell(p - Vec3{tolerance_mm, tolerance_mm, tolerance_mm}),
                                      high = cell(p + Vec3{tolerance_mm, tolerance_mm, tolerance_mm});
    for (std::int64_t x = low[0]; x <= high[0]; ++x)
      for (std::int64_t y = low[1]; y <= high[1]; ++y)
        for (std::int64_t z = low[2]; z <= high[2]; ++z) {
          const std::uint64_t here = key({x, y, z});
          for (auto it = std::ranges::lower_bound(cells_, Entry{here, 0}); it != cells_.end() && it->first == here;
               ++it) {
            const Vec3 away = detectors_.position(it->second) - p;
            if (dot(away, away) <= tolerance_mm * tolerance_mm) return it->second;
          }
        }
    return none;
  }

 private:
  static constexpr float tolerance_mm = 0.01f, cell_mm = 1;

  static std::array<std::int64_t, 3> cell(Vec3 p) {
    return {static_cast<std::int64_t>(std::floor(p.x / cell_mm)), static_cast<std::int64_t>(std::floor(p.y / cell_mm)),
            static_cast<std::int64_t>(std::floor(p.z / cell_mm))};
  }
  static std::uint64_t key(const std::array<std::int64_t, 3>& c) {
    std::uint64_t result = 0;
    for (const std::int64_t n : c) result = mixed(result, static_cast<std::uint64_t>(n));
    return result;
  }

  using Entry = std::pair<std::uint64_t, std::uint32_t>;

  const DetectorTable& detectors_;
  std::vector<Entry> cells_;  // key and detector, sorted
};

Vec3 centre_of(const Grid& grid) {
  Vec3 centre;
  for (int a = 0; a < 3; ++a)
    centre.set(a, grid.origin_mm[a] + 0.5f * static_cast<float>(grid.size[a] - 1) * grid.voxel_mm[a]);
  return centre;
}

bool grid_has(const Grid& grid, const Symmetry& s) {
  if (s.swap_xy && (grid.size[0] != grid.size[1] || grid.voxel_mm.x != grid.voxel_mm.y)) return false;
  // A mirror of one axis alone would put blobs where there are none.
  return !grid.has_blobs() || (s.mirror[0] == s.mirror[1] && s.mirror[1] == s.mirror[2]);
}

/// Where a symmetry puts each detector; empty where one lands beside all others, or two on the same.
std::vector<std::uint32_t> moved_detectors(const DetectorTable& detectors, const DetectorPlaces& places, Vec3 centre,
                                           const Symmetry& s) {
  std::vector<std::uint32_t> moved(static_cast<std::size_t>(detectors.size()));
  std::vector<char> taken(moved.size());
  tbb::parallel_for(std::size_t{0}, moved.size(), [&](std::size_t d) {
    moved[d] = places.at(centre + s(detectors.position(static_cast<std::uint32_t>(d)) - centre));
  });
  for (const std::uint32_t to : moved)
    if (to == DetectorPlaces::none || std::exchange(taken[to], 1)) return {};
  return moved;
}

bool alike(float a, float b) {
  return std::abs(a - b) <= 1e-3f * std::max(a, b);
}

/// Looks at some pairs of each detector with others, drawn at random.
bool efficiencies_agree(const Scanner& scanner, const std::vector<std::uint32_t>& moved) {
  constexpr std::uint64_t partners = 6;
  std::atomic<bool> agree = true;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, moved.size(), 256), [&](const auto& range) {
    for (std::size_t d = range.begin(); d < range.end() && agree; ++d)
      for (std::uint64_t n = 0; n < partners; ++n) {
        const std::uint64_t other = mixed(n, d) % moved.size();
        if (other == d) continue;
        const auto d1 = static_cast<std::uint32_t>(d), d2 = static_cast<std::uint32_t>(other);
        if (!alike(scanner.efficiency(d1, d2), scanner.efficiency(moved[d1], moved[d2]))) agree = false;
      }
  });
  return agree;
}

/// Bit a of 0 to 2 mirrors an axis, bit 3 exchanges x and y; 0 is the identity.
Symmetry numbered(std::size_t n) {
  return {.swap_xy = (n & 8) != 0, .mirror = {(n & 1) != 0, (n & 2) != 0, (n & 4) != 0}};
}

/// The number of `first` and then `second`.
std::size_t composed(std::size_t first, std::size_t second) {
  const std::size_t x_and_y = (first & 1) << 1 | (first & 2) >> 1;
  return ((second & 8) ? (first & 12) | x_and_y : first) ^ second;
}

/// Adds a symmetry and all that it makes with those that are there.
void add(std::bitset<SymmetryGroup::most>& symmetries, std::size_t n) {
  symmetries.set(n);
  for (std::size_t other = 0; other < symmetries.size(); ++other) {
    if (!symmetries[other]) continue;
    for (const std::size_t made : {composed(n, other), composed(other, n)})
      if (!symmetries[made]) add(symmetries, made);
  }
}

}  // namespace

SymmetryGroup common_symmetries(const Scanner& scanner, const Grid& grid) {
  SymmetryGroup group{.size = {grid.size[0], grid.size[1], grid.size[2]},
                      .lattice_voxels = grid.voxels() / grid.lattices(),
                      .blobs = grid.has_blobs()};
  const DetectorPlaces places(*scanner.detectors);
  const Vec3 centre = centre_of(grid);
  std::bitset<SymmetryGroup::most> symmetries(1);
  for (std::size_t n = 1; n < symmetries.size(); ++n) {
    if (symmetries[n] || !grid_has(grid, numbered(n))) continue;
    const std::vector<std::uint32_t> moved = moved_detectors(*scanner.detectors, places, centre, numbered(n));
    if (!moved.empty() && efficiencies_agree(scanner, moved)) add(symmetries, n);
  }
  for (std::size_t n = 1; n < symmetries.size(); ++n)
    if (symmetries[n]) group.elements[group.count++] = numbered(n);
  return group;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
