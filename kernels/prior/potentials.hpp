// Potentials of two neighbouring voxels: what a prior of neighbours asks for a pair of values a, b. A further potential
// is a struct like these and an entry in `Potential`; CPU and CUDA, single and double precision follow.
#pragma once

#include <cfloat>
#include <cmath>
#include <type_traits>
#include <variant>

#include "kernels/math/host_device.hpp"
#include "kernels/math/hyperbolic_tangent.hpp"

namespace tofstream {

// Each has
//   value(a, b)      psi(a, b), symmetric in a and b, convex, and 0 for a = b
//   slope(a, b)      d psi / da
//   curvature(a, b)  d^2 psi / da^2
//   majorant(a, b)   curvature of a parabola in a that touches psi(2a - a_n, b) / 2 at a_n = a and lies above it
//                    wherever a >= least_ratio a_n: De Pierro's surrogate of a pair (IEEE Trans Med Imaging 14:132,
//                    1995)
//   least_ratio      see above; 0 where the parabola is above everywhere
//   validate()       throws std::invalid_argument for parameters out of range (prior.cpp)

/// (a - b)^2 / 2
struct QuadraticPotential {
  static constexpr float least_ratio = 0;
  template <class T>
  TOFSTREAM_HOST_DEVICE T value(T a, T b) const {
    return (a - b) * (a - b) / 2;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T slope(T a, T b) const {
    return a - b;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T curvature(T, T) const {
    return 1;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T majorant(T, T) const {
    return 2;
  }
  void validate() const {}
};

/// d^2 / 2 where |d| = |a - b| is at most delta, else delta |d| - delta^2 / 2 (Huber, Ann Math Stat 35:73, 1964).
struct HuberPotential {
  double delta = 1;
  static constexpr float least_ratio = 0;
  template <class T>
  TOFSTREAM_HOST_DEVICE T value(T a, T b) const {
    const T d = std::abs(a - b), limit = static_cast<T>(delta);
    return d <= limit ? d * d / 2 : limit * (d - limit / 2);
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T slope(T a, T b) const {
    const T d = a - b, limit = static_cast<T>(delta);
    return d > limit ? limit : d < -limit ? -limit : d;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T curvature(T a, T b) const {
    return std::abs(a - b) <= static_cast<T>(delta) ? T(1) : T(0);
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T majorant(T a, T b) const {
    const T d = std::abs(a - b), limit = static_cast<T>(delta);
    return d <= limit ? T(2) : 2 * limit / d;
  }
  void validate() const;
};

/// log(cosh(s d)) / s^2 (Green, IEEE Trans Med Imaging 9:84, 1990)
struct LogCoshPotential {
  double scale = 1;  // s
  static constexpr float least_ratio = 0;

  /// s d, of a float no farther than farthest_tangent. It is d that is bounded, by what no compiler knows, and one bound
  /// after the other: of constants, or of both at once, GCC 12 makes slower SIMD.
  template <class T>
  TOFSTREAM_HOST_DEVICE T argument(T a, T b) const {
    const T s = static_cast<T>(scale), d = a - b;
    if constexpr (std::is_same_v<T, float>) {
      const T limit = farthest_tangent / s, below = d < limit ? d : limit;
      return s * (below > -limit ? below : -limit);
    } else {
      return s * d;
    }
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T value(T a, T b) const {
    const T s = static_cast<T>(scale), u = std::abs(s * (a - b));
    return (u + std::log1p(std::exp(-2 * u)) - static_cast<T>(0.69314718055994530942)) / (s * s);
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T slope(T a, T b) const {
    const T inverse = 1 / static_cast<T>(scale);
    return inverse * hyperbolic_tangent(argument(a, b));
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T curvature(T a, T b) const {
    return hyperbolic_tangent_slope(argument(a, b));
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T majorant(T a, T b) const {
    // Beyond the farthest argument it is 2 / |u|.
    const T size = static_cast<T>(scale) * std::abs(a - b), near = hyperbolic_tangent_over_argument(argument(a, b));
    const T far = 1 / (size > 1 ? size : T(1));
    return 2 * (near < far ? near : far);
  }
  void validate() const;
};

/// d^2 / D with D = a + b + gamma |d| + epsilon, for values that are not negative; 0 for two zeros with epsilon 0
/// (Nuyts et al., IEEE Trans Nucl Sci 49:56, 2002).
struct RelativeDifferencePotential {
  double gamma = 2, epsilon = 0;
  // 2a - a_n is then at least a quarter of a_n, where psi's curvature in a has a bound of the order of 1 / a_n.
  static constexpr float least_ratio = 0.625f;

  /// 1 / D. Where D would be 0 it is a large number that d = 0 cancels: a choice between quotients would keep compilers
  /// from making SIMD of it.
  template <class T>
  TOFSTREAM_HOST_DEVICE T inverse(T a, T b) const {
    constexpr T least = 4 * (sizeof(T) == sizeof(float) ? T(FLT_MIN) : T(DBL_MIN));
    return 1 / (a + (static_cast<T>(epsilon) + least) + b + static_cast<T>(gamma) * std::abs(a - b));
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T value(T a, T b) const {
    return (a - b) * ((a - b) * inverse(a, b));
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T slope(T a, T b) const {
    // d (gamma |d| + a + 3b + 2 epsilon) / D^2, whose second factor is D + 2b + epsilon; D^2 would overflow before D.
    const T inverted = inverse(a, b), ratio = (a - b) * inverted;
    return ratio + ratio * ((2 * b + static_cast<T>(epsilon)) * inverted);
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T curvature(T a, T b) const {
    const T inverted = inverse(a, b), share = (2 * b + static_cast<T>(epsilon)) * inverted;
    return 2 * share * share * inverted;
  }
  template <class T>
  TOFSTREAM_HOST_DEVICE T majorant(T a, T b) const {
    const T least = (2 * static_cast<T>(least_ratio) - 1) * a;
    return 2 * curvature(gamma >= 1 && b > least ? b : least, b);
  }
  void validate() const;
};

using Potential = std::variant<QuadraticPotential, HuberPotential, LogCoshPotential, RelativeDifferencePotential>;

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
