// The separable Gaussian on the CPU: see gaussian_psf.hpp. Each axis is blurred in place, a bundle
// of neighbouring lines at a time, so that the inner loop always runs along x.
#include "kernels/filter/gaussian_psf.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/filter/gaussian_lines.hpp"
#include "kernels/math/units.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

constexpr double largest_sigma = 1000;  // voxels
constexpr double largest_tail = 0.01;
constexpr int bundle = 64;  // lines side by side

/// e^-t I_n(t) for n in [0, last] by Miller's downward recurrence I_n-1 = I_n+1 + (2n/t) I_n,
/// scaled so that all weights, both sides, sum to 1.
std::vector<double> scaled_bessel(double t, int last) {
  std::vector<double> weights(static_cast<std::size_t>(last) + 1);
  double above = 0, here = 1e-300, sum = 0;
  for (int n = last; n >= 0; --n) {
    weights[static_cast<std::size_t>(n)] = here;
    sum += n == 0 ? here : 2 * here;
    const double below = above + 2.0 * n / t * here;
    above = here;
    here = below;
    if (here < 1e200) continue;
    const double scale = 1e-300;  // only ratios matter
    for (double& w : weights) w *= scale;
    above *= scale;
    here *= scale;
    sum *= scale;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

/// One bundle of `width` lines of `n` samples, `step` apart, starting at `first`: the lines are
/// copied with a margin of zeros, then written back blurred.
void blur_bundle(float* first, int n, std::int64_t step, int width, const std::vector<float>& w,
                 std::vector<float>& lines) {
  const int reach = std::min(static_cast<int>(w.size()) - 1, n - 1);
  lines.assign(static_cast<std::size_t>(n + 2 * reach) * bundle, 0.0f);
  float* inside = lines.data() + std::ptrdiff_t{reach} * bundle;
  for (int i = 0; i < n; ++i) std::copy_n(first + i * step, width, inside + std::ptrdiff_t{i} * bundle);
  for (int i = 0; i < n; ++i) {
    float sum[bundle];
    const float* centre = inside + std::ptrdiff_t{i} * bundle;
    for (int l = 0; l < bundle; ++l) sum[l] = w[0] * centre[l];
    for (int k = 1; k <= reach; ++k) {
      const float weight = w[static_cast<std::size_t>(k)];
      const float* before = centre - std::ptrdiff_t{k} * bundle;
      const float* after = centre + std::ptrdiff_t{k} * bundle;
      for (int l = 0; l < bundle; ++l) sum[l] += weight * (before[l] + after[l]);
    }
    std::copy_n(sum, width, first + i * step);
  }
}

/// Blurs along y or z: lines that are neighbours in x form a bundle.
void blur_across(float* image, const Grid& grid, int axis, const std::vector<float>& w) {
  const int other = axis == 1 ? 2 : 1;
  const int bundles = (grid.size[0] + bundle - 1) / bundle;
  tbb::parallel_for(0, grid.size[other] * bundles, [&](int task) {
    thread_local std::vector<float> lines;
    const int x = task % bundles * bundle;
    blur_bundle(image + x + grid.stride(other) * (task / bundles), grid.size[axis], grid.stride(axis),
                std::min(bundle, grid.size[0] - x), w, lines);
  });
}

/// Blurs along x: each row with a margin of zeros, the inner loop along the row.
void blur_along(float* image, const Grid& grid, const std::vector<float>& w) {
  const int n = grid.size[0];
  const int reach = std::min(static_cast<int>(w.size()) - 1, n - 1);
  const std::int64_t rows = grid.voxels() / n;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, rows, 64), [&](const auto& range) {
    std::vector<float> padded(static_cast<std::size_t>(n + 2 * reach), 0.0f);
    float* inside = padded.data() + reach;
    for (std::int64_t r = range.begin(); r < range.end(); ++r) {
      float* row = image + r * n;
      std::copy_n(row, n, inside);
      for (int i = 0; i < n; ++i) row[i] = w[0] * inside[i];
      for (int k = 1; k <= reach; ++k) {
        const float weight = w[static_cast<std::size_t>(k)];
        for (int i = 0; i < n; ++i) row[i] += weight * (inside[i - k] + inside[i + k]);
      }
    }
  });
}

}  // namespace

std::vector<float> gaussian_weights(double sigma_voxels, double tail) {
  if (!(sigma_voxels >= 0 && sigma_voxels <= largest_sigma))
    throw std::invalid_argument(
        fmt::format("a Gaussian's sigma must be in [0, {}] voxels, not {}", largest_sigma, sigma_voxels));
  if (!(tail > 0 && tail <= largest_tail))
    throw std::invalid_argument(fmt::format("a Gaussian's tail must be in (0, {}], not {}", largest_tail, tail));
  const double t = sigma_voxels * sigma_voxels;
  if (t < 1e-12) return {1.0f};
  const int last = static_cast<int>(std::ceil(9 * sigma_voxels)) + 12;
  std::vector<double> weights = scaled_bessel(t, last);
  double beyond = 0;
  int cut = last;
  while (cut > std::ceil(4 * sigma_voxels) && beyond + 2 * weights[static_cast<std::size_t>(cut)] <= tail) {
    beyond += 2 * weights[static_cast<std::size_t>(cut)];
    --cut;
  }
  weights.resize(static_cast<std::size_t>(cut) + 1);
  std::vector<float> result;
  result.reserve(weights.size());
  for (const double w : weights) result.push_back(static_cast<float>(w / (1 - beyond)));
  return result;
}

GaussianPsf::GaussianPsf(const Grid& grid, Vec3 fwhm_mm, Backend backend) : grid_(grid), backend_(backend) {
  validate(grid);
  if (backend == Backend::cuda) require_cuda();
  for (int axis = 0; axis < 3; ++axis) {
    const float fwhm = fwhm_mm[axis];
    if (!(std::isfinite(fwhm) && fwhm >= 0))
      throw std::invalid_argument(
          fmt::format("the FWHM of a Gaussian must be finite and not negative (mm), not {}", fwhm));
    weights_[axis] =
        gaussian_weights(static_cast<double>(fwhm) / fwhm_per_sigma / static_cast<double>(grid.voxel_mm[axis]));
    if (backend == Backend::cuda) device_weights_[axis] = Buffer<float>::from(weights_[axis]).to(Memory::device);
  }
  if (backend == Backend::cuda) synchronize(nullptr);
}

bool GaussianPsf::is_identity() const {
  return std::ranges::all_of(weights_, [](const auto& w) { return w.size() == 1; });
}

void GaussianPsf::apply(float* image, Stream stream) {
  if (backend_ == Backend::cuda) {
    if (scratch_.empty() && !is_identity()) scratch_ = Buffer<float>(Memory::device, grid_.voxels(), stream);
    detail::blur_cuda(image, scratch_.data(), grid_, device_weights_, stream);
    return;
  }
  if (weights_[0].size() > 1) blur_along(image, grid_, weights_[0]);
  for (const int axis : {1, 2})
    if (weights_[axis].size() > 1) blur_across(image, grid_, axis, weights_[axis]);
}

void GaussianPsf::apply(Image& image, Stream stream) {
  if (!(image.grid == grid_) || image.voxels.size() != grid_.voxels())
    throw std::invalid_argument("the image lies on another grid than the Gaussian was made for");
  if (on_host(image.voxels.memory()) != (backend_ == Backend::cpu))
    throw std::invalid_argument("the image lies in other memory than the Gaussian was made for");
  apply(image.voxels.data(), stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::blur_cuda(float*, float*, const Grid&, const Buffer<float> (&)[3], Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
