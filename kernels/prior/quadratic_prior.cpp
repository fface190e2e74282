// The quadratic penalty on the CPU, and the choice of backend: see quadratic_prior.hpp.
#include "kernels/prior/quadratic_prior.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/prior/quadratic_voxel.hpp"

namespace tofstream {
namespace {

void set_weights(const Grid& grid, Neighbours neighbours, double beta, float (&weights)[27]) {
  const double x = grid.voxel_mm.x, y = grid.voxel_mm.y, z = grid.voxel_mm.z;
  const double shortest = std::min({x, y, z});
  float* weight = weights;
  for (int dk = -1; dk <= 1; ++dk)
    for (int dj = -1; dj <= 1; ++dj)
      for (int di = -1; di <= 1; ++di) {
        const int steps = std::abs(di) + std::abs(dj) + std::abs(dk);
        const bool is_one = steps == 1 || (steps > 1 && neighbours == Neighbours::all);
        *weight++ = is_one ? static_cast<float>(beta * shortest / std::hypot(di * x, dj * y, dk * z)) : 0.0f;
      }
}

void differentiate_cpu(const detail::QuadraticArrays& arrays, std::int64_t voxels) {
  constexpr std::int64_t grain = 1 << 12;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, voxels, grain), [&](const auto& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) arrays.differentiate(v);
  });
}

}  // namespace

Image quadratic_gradient(const Image& image, Neighbours neighbours, double beta, Stream stream) {
  if (image.grid.has_blobs())
    throw std::invalid_argument("a quadratic penalty is on voxels, and this image is of blobs: write basis: voxels");
  if (!(std::isfinite(beta) && beta >= 0))
    throw std::invalid_argument(fmt::format("beta must be finite and not negative, not {}", beta));
  const std::int64_t voxels = image.voxels.size();
  Image gradient{image.grid, Buffer<float>(image.voxels.memory(), voxels, stream)};
  const int* size = image.grid.size;
  detail::QuadraticArrays arrays{image.voxels.data(), gradient.voxels.data(), {size[0], size[1], size[2]}, {}};
  set_weights(image.grid, neighbours, beta, arrays.weights);
  if (on_host(image.voxels.memory()))
    differentiate_cpu(arrays, voxels);
  else
    detail::differentiate_cuda(arrays, voxels, stream);
  return gradient;
}

#ifndef TOFSTREAM_HAVE_CUDA
namespace detail {

void differentiate_cuda(const QuadraticArrays&, std::int64_t, Stream) {
  require_cuda();
}

}  // namespace detail
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
