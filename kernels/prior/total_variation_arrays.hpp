// Smoothed total variation in one voxel, alone or along the level sets of an anatomical image, for any number type and
// processor: see prior.hpp. Internal to the priors.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/math/host_device.hpp"
#include "kernels/prior/neighbour_arrays.hpp"

namespace tofstream::detail {

/// Where differences count in all directions alike.
struct NoEdges {};
/// Where those across the edges of an anatomical image count less.
template <class In>
struct AnatomyEdges {
  const In* anatomy = nullptr;
  In inverse_eta = 0;  // of differences in the anatomy
};

/// The terms of an image of numbers of the type `In`, and their derivatives.
template <class In, class Edges = NoEdges>
struct TotalVariationArrays {
  static constexpr bool has_anatomy = !std::is_same_v<Edges, NoEdges>;

  const In* image = nullptr;
  const In* kappa = nullptr;  // a voxel's factor is its square; null: 1
  int size[3] = {};
  In beta = 0, epsilon = 0;
  In scales[3] = {};  // shortest edge / edge along each axis
  Edges edges = {};

  TOFSTREAM_HOST_DEVICE std::int64_t stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? size[0] : static_cast<std::int64_t>(size[0]) * size[1];
  }

  /// The term of one voxel: beta kappa^2 root, with root^2 = g^T M g + epsilon^2, where g is the gradient, s_a D_a, and
  /// M is 1, or 1 - xi xi^T.
  template <class T>
  struct Term {
    T factor, root;
    T pulls[3];    // s_a (M g)_a: half the derivative of root^2 by D_a
    T squares[3];  // s_a^2 M_aa, half the second one; 0 for the last voxel of an axis
    T own_square;  // s^T M s: the same by the voxel itself
    T bounds[3];   // s_a^2, which squares do not exceed
  };
  template <class T>
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE Term<T> term(const int (&at)[3]) const {
    const std::int64_t v = at[0] + at[1] * stride(1) + at[2] * stride(2);
    Term<T> result;
    const T weight = kappa ? static_cast<T>(kappa[v]) : T(1);
    result.factor = static_cast<T>(beta) * weight * weight;
    T steps[3], gradient[3];
    for (int axis = 0; axis < 3; ++axis) {
      steps[axis] = at[axis] + 1 < size[axis] ? static_cast<T>(scales[axis]) : T(0);
      gradient[axis] = scaled_difference<T>(image, at, v, axis);
      result.bounds[axis] = steps[axis] * steps[axis];
    }
    T square;
    if constexpr (has_anatomy) {
      square = along_level_sets(at, v, steps, gradient, result);
    } else {
      for (int axis = 0; axis < 3; ++axis) {
        result.pulls[axis] = steps[axis] * gradient[axis];
        result.squares[axis] = result.bounds[axis];
      }
      result.own_square = result.bounds[0] + result.bounds[1] + result.bounds[2];
      square = squared(gradient);
    }
    result.root = std::sqrt(square + static_cast<T>(epsilon) * static_cast<T>(epsilon));
    return result;
  }

  /// To the next voxel along an axis; 0 for the last one.
  template <class T>
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE T scaled_difference(const In* of, const int (&at)[3], std::int64_t v,
                                                                   int axis) const {
    if (at[axis] + 1 >= size[axis]) return 0;
    return static_cast<T>(scales[axis]) * (static_cast<T>(of[v + stride(axis)]) - static_cast<T>(of[v]));
  }

  /// Gives g^T M g for the parallel level sets. With n, the anatomy's gradient over eta, xi = n / sqrt(1 + |n|^2).
  /// Written as M g = rest g + (xi x g) x xi with rest = 1 / (1 + |n|^2), it loses no digits where M is nearly
  /// singular.
  template <class T>
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE T along_level_sets(const int (&at)[3], std::int64_t v,
                                                                  const T (&steps)[3], const T (&gradient)[3],
                                                                  Term<T>& result) const {
    T xi[3];
    for (int axis = 0; axis < 3; ++axis)
      xi[axis] = scaled_difference<T>(edges.anatomy, at, v, axis) * static_cast<T>(edges.inverse_eta);
    const T rest = 1 / (1 + squared(xi)), length = std::sqrt(rest);
    for (T& part : xi) part *= length;
    T turned[3], twice[3], own[3];
    cross(xi, gradient, turned);
    cross(turned, xi, twice);
    cross(xi, steps, own);
    for (int axis = 0; axis < 3; ++axis) {
      result.pulls[axis] = steps[axis] * (rest * gradient[axis] + twice[axis]);
      const T b = xi[axis == 2 ? 0 : axis + 1], c = xi[axis == 0 ? 2 : axis - 1];
      result.squares[axis] = result.bounds[axis] * (rest + b * b + c * c);
    }
    result.own_square = rest * squared(steps) + squared(own);
    return rest * squared(gradient) + squared(turned);
  }

  template <class T>
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE static T squared(const T (&a)[3]) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
  }
  template <class T>
  [[gnu::always_inline]] TOFSTREAM_HOST_DEVICE static void cross(const T (&a)[3], const T (&b)[3], T (&result)[3]) {
    result[0] = a[1] * b[2] - a[2] * b[1];
    result[1] = a[2] * b[0] - a[0] * b[2];
    result[2] = a[0] * b[1] - a[1] * b[0];
  }

  // What a term gives to its own voxel, and to the next one along an axis.
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const HalfValue&, const Term<T>& t) {
    return t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Slope&, const Term<T>& t) {
    return -pull(t) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Curvature&, const Term<T>& t) {
    const T slope = pull(t) / t.root;
    return (t.own_square - slope * slope) / t.root;
  }
  // The root's parabola in its square, M <= 1, and (e_j - e_k)^2 <= 2 e_j^2 + 2 e_k^2 for each difference.
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Majorant&, const Term<T>& t) {
    return 2 * (t.bounds[0] + t.bounds[1] + t.bounds[2]) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Slope&, const Term<T>& t, int axis) {
    return t.pulls[axis] / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Curvature&, const Term<T>& t, int axis) {
    const T slope = t.pulls[axis] / t.root;
    return (t.squares[axis] - slope * slope) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Majorant&, const Term<T>& t, int axis) {
    return 2 * t.bounds[axis] / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T pull(const Term<T>& t) {
    return t.pulls[0] + t.pulls[1] + t.pulls[2];
  }

  template <class T>
  TOFSTREAM_HOST_DEVICE T sum(const HalfValue&, int i, int j, int k) const {
    const Term<T> t = term<T>({i, j, k});
    return t.factor * (t.root - static_cast<T>(epsilon));
  }
  template <class T, class Part>
  TOFSTREAM_HOST_DEVICE T sum(const Part& part, int i, int j, int k) const {
    const Term<T> here = term<T>({i, j, k});
    T result = here.factor * own(part, here);
    const int at[3] = {i, j, k};
    for (int axis = 0; axis < 3; ++axis) {
      if (at[axis] == 0) continue;
      int before[3] = {i, j, k};
      --before[axis];
      const Term<T> t = term<T>(before);
      result += t.factor * next(part, t, axis);
    }
    return result;
  }
};

template <class In>
using ParallelLevelSetsArrays = TotalVariationArrays<In, AnatomyEdges<In>>;

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
