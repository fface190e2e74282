// What tests of priors share: images, potentials, and sums in double precision by the priors' own text.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/prior/neighbour_rows.hpp"
#include "kernels/prior/prior.hpp"
#include "kernels/prior/total_variation_arrays.hpp"
#include "kernels/types/image.hpp"

namespace tofstream::prior_test {

/// Numbers between 0 and 10 without order, some of them equal and some 0.
inline Image rough(const Grid& grid) {
  Image image = Image::zeros(grid);
  for (std::int64_t v = 0; v < grid.voxels(); ++v) image.voxels[v] = static_cast<float>((v * 7919) % 101) / 10;
  return image;
}

inline Image row_of(const std::vector<float>& values) {
  return {Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)};
}

inline std::vector<double> in_double(const Image& image) {
  const auto values = image.voxels.to_vector();
  return {values.begin(), values.end()};
}

/// Every potential, with parameters that bite for the numbers of rough().
inline std::vector<Potential> all_potentials() {
  return {QuadraticPotential{}, HuberPotential{2.03}, LogCoshPotential{0.4}, RelativeDifferencePotential{2, 0.05},
          RelativeDifferencePotential{0.5, 0.01}};
}

/// beta w of all neighbours, w = shortest edge / distance.
inline std::array<double, 27> weights_of(const std::array<double, 3>& edges, double beta) {
  std::array<double, 27> weights{};
  const double shortest = std::min({edges[0], edges[1], edges[2]});
  for (int dk = -1; dk <= 1; ++dk)
    for (int dj = -1; dj <= 1; ++dj)
      for (int di = -1; di <= 1; ++di)
        if (di != 0 || dj != 0 || dk != 0)
          weights[static_cast<std::size_t>(di + 1 + 3 * (dj + 1 + 3 * (dk + 1)))] =
              beta * shortest / std::hypot(di * edges[0], dj * edges[1], dk * edges[2]);
  return weights;
}

template <class In>
detail::NeighbourArrays<In> arrays_of(const std::vector<In>& image, const std::array<int, 3>& size,
                                      const std::array<double, 27>& weights) {
  detail::NeighbourArrays<In> arrays{.image = image.data(), .size = {size[0], size[1], size[2]}};
  for (std::size_t n = 0; n < 27; ++n) arrays.weights[n] = static_cast<In>(weights[n]);
  return arrays;
}

template <class T, class Part, class P>
std::vector<T> sums_of(const detail::NeighbourArrays<T>& arrays, const Part& part, const P& potential) {
  std::vector<T> sums(static_cast<std::size_t>(arrays.size[0] * arrays.size[1] * arrays.size[2]));
  detail::sum_neighbours(arrays, part, potential, sums.data());
  return sums;
}

template <class T, class Edges, class Part>
std::vector<T> sums_of(const detail::TotalVariationArrays<T, Edges>& arrays, const Part& part) {
  std::vector<T> sums;
  for (int k = 0; k < arrays.size[2]; ++k)
    for (int j = 0; j < arrays.size[1]; ++j)
      for (int i = 0; i < arrays.size[0]; ++i) sums.push_back(arrays.template sum<T>(part, i, j, k));
  return sums;
}

template <class T>
T total(const std::vector<T>& values) {
  T sum = 0;
  for (const T value : values) sum += value;
  return sum;
}

/// The largest difference, relative to the largest of `b`.
template <class A, class B>
double difference(const std::vector<A>& a, const std::vector<B>& b) {
  double most = 0, scale = 0;
  if (a.size() != b.size()) return INFINITY;
  for (std::size_t v = 0; v < a.size(); ++v) {
    const double apart = std::abs(static_cast<double>(a[v]) - static_cast<double>(b[v]));
    if (!(apart <= most)) most = apart;  // NaN too
    scale = std::max(scale, std::abs(static_cast<double>(b[v])));
  }
  return most / scale;
}

}  // namespace tofstream::prior_test
// SPDX-License-Identifier: Apache-2.0
