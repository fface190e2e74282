// Sums over the neighbours of a voxel: a prior's value, gradient, diagonal of the Hessian and De Pierro's curvature,
// for any potential (potentials.hpp), number type and processor. Internal to the priors.
#pragma once

#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/prior/potentials.hpp"

namespace tofstream::detail {

/// What is summed over pairs.
struct HalfValue {  // each pair is met from both sides
  template <class P, class T>
  TOFSTREAM_HOST_DEVICE T operator()(const P& potential, T a, T b) const {
    return potential.value(a, b) / 2;
  }
};
struct Slope {
  template <class P, class T>
  TOFSTREAM_HOST_DEVICE T operator()(const P& potential, T a, T b) const {
    return potential.slope(a, b);
  }
};
struct Curvature {
  template <class P, class T>
  TOFSTREAM_HOST_DEVICE T operator()(const P& potential, T a, T b) const {
    return potential.curvature(a, b);
  }
};
struct Majorant {
  template <class P, class T>
  TOFSTREAM_HOST_DEVICE T operator()(const P& potential, T a, T b) const {
    return potential.majorant(a, b);
  }
};

/// An image of numbers of the type `In`, and which pairs of its voxels count how much.
template <class In>
struct NeighbourArrays {
  const In* image = nullptr;
  const In* kappa = nullptr;              // a pair's factor is kappa_j kappa_k; null: 1
  const std::uint32_t* chosen = nullptr;  // of each voxel a bit a neighbour, as in weights; null: all
  int size[3] = {};
  In weights[27] = {};     // beta w of the neighbours, x fastest; 0 where a voxel is none
  bool replicate = false;  // a neighbour outside is the nearest voxel inside; else there is none

  TOFSTREAM_HOST_DEVICE std::int64_t index(int i, int j, int k) const {
    return i + size[0] * (j + static_cast<std::int64_t>(size[1]) * k);
  }
  TOFSTREAM_HOST_DEVICE static int offset(int di, int dj, int dk) { return di + 1 + 3 * (dj + 1 + 3 * (dk + 1)); }
  TOFSTREAM_HOST_DEVICE bool is_inside(int at, int axis) const { return at >= 0 && at < size[axis]; }
  TOFSTREAM_HOST_DEVICE int clamped(int at, int axis) const {
    return at < 0 ? 0 : at < size[axis] ? at : size[axis] - 1;
  }

  /// A pair's factor besides its weight. Where neighbours are chosen, it is the mean of both voxels' choices.
  template <class T>
  TOFSTREAM_HOST_DEVICE T factor(std::int64_t v, std::int64_t neighbour, int offset) const {
    T result = kappa ? static_cast<T>(kappa[v]) * static_cast<T>(kappa[neighbour]) : T(1);
    if (chosen)
      result *= T(0.5) * static_cast<T>((chosen[v] >> offset & 1u) + (chosen[neighbour] >> (26 - offset) & 1u));
    return result;
  }

  template <class T, class Part, class P>
  TOFSTREAM_HOST_DEVICE T pair(const Part& part, const P& potential, std::int64_t v, std::int64_t neighbour,
                               int offset) const {
    return static_cast<T>(weights[offset]) * factor<T>(v, neighbour, offset) *
           part(potential, static_cast<T>(image[v]), static_cast<T>(image[neighbour]));
  }

  /// Whether all 27 voxels about one are in the image.
  TOFSTREAM_HOST_DEVICE bool is_interior(int i, int j, int k) const {
    return i > 0 && j > 0 && k > 0 && i + 1 < size[0] && j + 1 < size[1] && k + 1 < size[2];
  }

  /// The sum of an interior voxel whose neighbours are not chosen, as most are: without a look at the border.
  template <class T, class Part, class P>
  TOFSTREAM_HOST_DEVICE T interior_sum(const Part& part, const P& potential, std::int64_t v) const {
    const In* const about = image + v;
    const T own = static_cast<T>(about[0]), own_kappa = kappa ? static_cast<T>(kappa[v]) : T(1);
    const std::int64_t slice = static_cast<std::int64_t>(size[0]) * size[1];
    T result = 0;
    for (int dk = -1; dk <= 1; ++dk)
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          const T weight = static_cast<T>(weights[offset(di, dj, dk)]);
          if (weight == 0) continue;
          const std::int64_t by = di + size[0] * dj + slice * dk;
          const T pair_factor = kappa ? own_kappa * static_cast<T>(kappa[v + by]) : T(1);
          result += weight * pair_factor * part(potential, own, static_cast<T>(about[by]));
        }
    return result;
  }

  /// The sum of one voxel.
  template <class T, class Part, class P>
  TOFSTREAM_HOST_DEVICE T sum(const Part& part, const P& potential, int i, int j, int k) const {
    const std::int64_t v = index(i, j, k);
    if (!chosen && is_interior(i, j, k)) return interior_sum<T>(part, potential, v);
    T result = 0;
    for (int dk = -1; dk <= 1; ++dk)
      for (int dj = -1; dj <= 1; ++dj)
        for (int di = -1; di <= 1; ++di) {
          const int at = offset(di, dj, dk);
          const bool inside = is_inside(i + di, 0) && is_inside(j + dj, 1) && is_inside(k + dk, 2);
          if (weights[at] == 0 || !(inside || replicate)) continue;
          const std::int64_t neighbour = index(clamped(i + di, 0), clamped(j + dj, 1), clamped(k + dk, 2));
          result += pair<T>(part, potential, v, neighbour, at);
        }
    return result;
  }
};

/// A prior of neighbours, as the drivers for CPU and CUDA take it.
template <class In, class P>
struct NeighbourTerms {
  NeighbourArrays<In> arrays;
  P potential;

  template <class T, class Part>
  TOFSTREAM_HOST_DEVICE T sum(const Part& part, int i, int j, int k) const {
    return arrays.template sum<T>(part, potential, i, j, k);
  }
};

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
