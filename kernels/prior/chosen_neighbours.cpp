// Bowsher's choice of neighbours: see chosen_neighbours.hpp.
#include "kernels/prior/chosen_neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "kernels/prior/neighbour_rows.hpp"

namespace tofstream {
namespace {

struct Candidate {
  float difference, distance_mm;
  int offset;
  bool operator<(const Candidate& other) const {
    return std::tie(difference, distance_mm, offset) < std::tie(other.difference, other.distance_mm, other.offset);
  }
};

/// The neighbours of one voxel, and how many there are.
int candidates_of(const Grid& grid, const float* anatomy, const std::array<int, 3>& at,
                  std::array<Candidate, 26>& all) {
  int count = 0;
  for (int dk = -1; dk <= 1; ++dk)
    for (int dj = -1; dj <= 1; ++dj)
      for (int di = -1; di <= 1; ++di) {
        const std::array<int, 3> to = {at[0] + di, at[1] + dj, at[2] + dk};
        bool inside = di != 0 || dj != 0 || dk != 0;
        for (std::size_t axis = 0; axis < 3; ++axis) inside = inside && to[axis] >= 0 && to[axis] < grid.size[axis];
        if (!inside) continue;
        const Vec3 edges = grid.voxel_mm;
        const float x = static_cast<float>(di) * edges.x, y = static_cast<float>(dj) * edges.y,
                    z = static_cast<float>(dk) * edges.z;
        const float difference =
            std::abs(anatomy[grid.index(to[0], to[1], to[2])] - anatomy[grid.index(at[0], at[1], at[2])]);
        all[static_cast<std::size_t>(count++)] = {difference, std::sqrt(x * x + y * y + z * z),
                                                  detail::NeighbourArrays<float>::offset(di, dj, dk)};
      }
  return count;
}

}  // namespace

ChosenNeighbours::ChosenNeighbours(const Image& anatomy, int count, Stream stream) : grid_(anatomy.grid) {
  if (grid_.has_blobs()) throw std::invalid_argument("neighbours are chosen of voxels, and this image is of blobs");
  if (count < 1 || count > 26)
    throw std::invalid_argument(fmt::format("a voxel chooses 1 to 26 neighbours, not {}", count));
  const Image host = anatomy.to(Memory::host, stream);
  synchronize(stream);
  Buffer<std::uint32_t> bits(Memory::host, grid_.voxels());
  detail::for_each_row(grid_.size, [&](int j, int k) {
    for (int i = 0; i < grid_.size[0]; ++i) {
      std::array<Candidate, 26> all;
      const int found = candidates_of(grid_, host.voxels.data(), {i, j, k}, all);
      const int chosen = std::min(count, found);
      std::partial_sort(all.begin(), all.begin() + chosen, all.begin() + found);
      std::uint32_t voxel_bits = 0;
      for (int n = 0; n < chosen; ++n) voxel_bits |= 1u << all[static_cast<std::size_t>(n)].offset;
      bits[grid_.index(i, j, k)] = voxel_bits;
    }
  });
  bits_ = bits.to(anatomy.voxels.memory(), stream);
  synchronize(stream);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
