// Smoothed total variation in one voxel, for any number type and processor: see prior.hpp. Internal to the priors.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/math/host_device.hpp"
#include "kernels/prior/neighbour_arrays.hpp"

namespace tofstream::detail {

/// The terms of an image of numbers of the type `In`, and their derivatives.
template <class In>
struct TotalVariationArrays {
  const In* image = nullptr;
  const In* kappa = nullptr;  // a voxel's factor is its square; null: 1
  int size[3] = {};
  In beta = 0, epsilon = 0;
  In squares[3] = {};  // of shortest edge / edge along each axis

  TOFSTREAM_HOST_DEVICE std::int64_t stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? size[0] : static_cast<std::int64_t>(size[0]) * size[1];
  }

  /// The term of one voxel: beta kappa^2 root, with root^2 = sum of c_a D_a^2 + epsilon^2.
  template <class T>
  struct Term {
    T factor, root;
    T differences[3];  // D_a
    T squares[3];      // c_a; 0 for the last voxel of an axis
  };
  template <class T>
  TOFSTREAM_HOST_DEVICE Term<T> term(const int (&at)[3]) const {
    const std::int64_t v = at[0] + at[1] * stride(1) + at[2] * stride(2);
    Term<T> result;
    const T weight = kappa ? static_cast<T>(kappa[v]) : T(1);
    result.factor = static_cast<T>(beta) * weight * weight;
    T sum = static_cast<T>(epsilon) * static_cast<T>(epsilon);
    for (int axis = 0; axis < 3; ++axis) {
      const bool has_next = at[axis] + 1 < size[axis];
      result.squares[axis] = has_next ? static_cast<T>(squares[axis]) : T(0);
      result.differences[axis] = has_next ? static_cast<T>(image[v + stride(axis)]) - static_cast<T>(image[v]) : T(0);
      sum += result.squares[axis] * result.differences[axis] * result.differences[axis];
    }
    result.root = std::sqrt(sum);
    return result;
  }

  // What a term gives to its own voxel, and to the next one along an axis.
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const HalfValue&, const Term<T>& t) {
    return t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Slope&, const Term<T>& t) {
    return -inner(t) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Curvature&, const Term<T>& t) {
    const T slope = inner(t) / t.root;
    return (t.squares[0] + t.squares[1] + t.squares[2] - slope * slope) / t.root;
  }
  // The root's parabola in its square, and (e_j - e_k)^2 <= 2 e_j^2 + 2 e_k^2 for each difference.
  template <class T>
  TOFSTREAM_HOST_DEVICE static T own(const Majorant&, const Term<T>& t) {
    return 2 * (t.squares[0] + t.squares[1] + t.squares[2]) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Slope&, const Term<T>& t, int axis) {
    return t.squares[axis] * t.differences[axis] / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Curvature&, const Term<T>& t, int axis) {
    const T slope = t.squares[axis] * t.differences[axis] / t.root;
    return (t.squares[axis] - slope * slope) / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T next(const Majorant&, const Term<T>& t, int axis) {
    return 2 * t.squares[axis] / t.root;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE static T inner(const Term<T>& t) {
    return t.squares[0] * t.differences[0] + t.squares[1] * t.differences[1] + t.squares[2] * t.differences[2];
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

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
