// The sums of neighbour_arrays.hpp on the CPU: rows of voxels on all cores. Internal to the priors.
#pragma once

#include <cstdint>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/prior/neighbour_arrays.hpp"

namespace tofstream::detail {

/// Adds what the neighbours in one row, `row` + `di`, give to the voxels of another: a loop without branches, which
/// compilers make SIMD of.
template <class T, class In, class Part, class P>
void add_neighbours(const Part& part, const P& potential, T weight, const In* voxels, const In* neighbours, int count,
                    T* __restrict sums) {
  for (int i = 0; i < count; ++i)
    sums[i] += weight * part(potential, static_cast<T>(voxels[i]), static_cast<T>(neighbours[i]));
}

/// The sums of the row of voxels (j, k).
template <class T, class In, class Part, class P>
void sum_row(const NeighbourArrays<In>& arrays, const Part& part, const P& potential, int j, int k, T* sums) {
  const int nx = arrays.size[0];
  for (int i = 0; i < nx; ++i) sums[i] = 0;
  const std::int64_t own = arrays.index(0, j, k);
  for (int dk = -1; dk <= 1; ++dk)
    for (int dj = -1; dj <= 1; ++dj) {
      const bool inside = arrays.is_inside(j + dj, 1) && arrays.is_inside(k + dk, 2);
      if (!inside && !arrays.replicate) continue;
      const std::int64_t other = arrays.index(0, arrays.clamped(j + dj, 1), arrays.clamped(k + dk, 2));
      for (int di = -1; di <= 1; ++di) {
        const int at = arrays.offset(di, dj, dk), first = di < 0 ? 1 : 0, end = di > 0 ? nx - 1 : nx;
        if (arrays.weights[at] == 0) continue;
        if (!arrays.kappa && !arrays.chosen)
          add_neighbours(part, potential, static_cast<T>(arrays.weights[at]), arrays.image + own + first,
                         arrays.image + other + first + di, end - first, sums + first);
        else
          for (int i = first; i < end; ++i)
            sums[i] += arrays.template pair<T>(part, potential, own + i, other + i + di, at);
        if (arrays.replicate && di != 0) {
          const int i = di < 0 ? 0 : nx - 1;
          sums[i] += arrays.template pair<T>(part, potential, own + i, other + i, at);
        }
      }
    }
}

/// Rows of an image of this size on all cores: use(j, k).
template <class Use>
void for_each_row(const int (&size)[3], const Use& use) {
  const std::int64_t rows = static_cast<std::int64_t>(size[1]) * size[2];
  constexpr std::int64_t grain_voxels = 1 << 12;
  const std::int64_t grain = size[0] > 0 ? grain_voxels / size[0] + 1 : 1;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, rows, grain), [&](const auto& range) {
    for (std::int64_t row = range.begin(); row < range.end(); ++row)
      use(static_cast<int>(row % size[1]), static_cast<int>(row / size[1]));
  });
}

/// The sums of all voxels, on the host.
template <class T, class In, class Part, class P>
void sum_neighbours(const NeighbourArrays<In>& arrays, const Part& part, const P& potential, T* sums) {
  for_each_row(arrays.size,
               [&](int j, int k) { sum_row(arrays, part, potential, j, k, sums + arrays.index(0, j, k)); });
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
