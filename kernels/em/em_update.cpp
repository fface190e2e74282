// The EM image update on the CPU, and the choice of backend: see em_update.hpp.
#include "kernels/em/em_update.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "kernels/em/em_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

using Range = tbb::blocked_range<std::int64_t>;
constexpr std::int64_t em_grain = 1 << 15;

float largest_sensitivity_cpu(const float* s, std::int64_t voxels) {
  return tbb::parallel_reduce(
      Range(0, voxels, em_grain), 0.0f,
      [&](const Range& range, float maximum) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) maximum = std::max(maximum, detail::magnitude(s[v]));
        return maximum;
      },
      [](float a, float b) { return std::max(a, b); });
}

template <class Use>
void for_each_voxel(std::int64_t voxels, const Use& use) {
  tbb::parallel_for(Range(0, voxels, em_grain), [&](const Range& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) use(v);
  });
}

void invert_cpu(const float* s, float threshold, float* inverse, std::int64_t voxels) {
  for_each_voxel(voxels, [&](std::int64_t v) { inverse[v] = detail::inverse_above(s[v], threshold); });
}

Image like(const Image& image, Stream stream) {
  return {image.grid, Buffer<float>(image.voxels.memory(), image.voxels.size(), stream)};
}

void require_fraction(float fraction) {
  if (!(fraction >= 0 && fraction < 1))
    throw std::invalid_argument(fmt::format("the sensitivity fraction must be in [0, 1), not {}", fraction));
}

std::int64_t update_cpu(const detail::EmArrays& arrays, std::int64_t voxels) {
  return tbb::parallel_reduce(
      Range(0, voxels, em_grain), std::int64_t{0},
      [&](const Range& range, std::int64_t replaced) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) replaced += detail::update_voxel(arrays, v);
        return replaced;
      },
      std::plus<>());
}

UpdateFaults update_cpu(const detail::PenalisedArrays& arrays, std::int64_t voxels) {
  return tbb::parallel_reduce(
      Range(0, voxels, em_grain), UpdateFaults{},
      [&](const Range& range, UpdateFaults faults) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v) {
          const detail::VoxelFaults here = detail::update_voxel(arrays, v);
          faults += {here.not_finite, here.limited};
        }
        return faults;
      },
      [](UpdateFaults a, const UpdateFaults& b) { return a += b; });
}

void require_same(const Image& a, const Image& b, const char* name) {
  detail::require_like("EM update", a, b, name);
}

detail::EmArrays checked_arrays(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                                double time_fraction) {
  require_same(estimate, inverse_sensitivity, "inverse sensitivity");
  require_same(estimate, backprojection, "back projection");
  detail::require_time_fraction(time_fraction);
  return {estimate.voxels.data(), inverse_sensitivity.voxels.data(), backprojection.voxels.data(),
          static_cast<float>(1.0 / time_fraction)};
}

}  // namespace

float largest_sensitivity(const Image& sensitivity, Stream stream) {
  const float* s = sensitivity.voxels.data();
  const std::int64_t voxels = sensitivity.voxels.size();
  const float largest = on_host(sensitivity.voxels.memory()) ? largest_sensitivity_cpu(s, voxels)
                                                             : detail::largest_sensitivity_cuda(s, voxels, stream);
  if (!(largest <= std::numeric_limits<float>::max()))
    throw std::invalid_argument("the sensitivity image holds a value that is not finite");
  if (!(largest > 0))
    throw std::invalid_argument("the sensitivity image is zero everywhere: does the image lie inside the scanner?");
  return largest;
}

Image inverse_sensitivity(const Image& sensitivity, float fraction, Stream stream) {
  require_fraction(fraction);
  const std::int64_t voxels = sensitivity.voxels.size();
  Image result = like(sensitivity, stream);
  const float threshold = fraction * largest_sensitivity(sensitivity, stream);
  if (on_host(sensitivity.voxels.memory())) {
    invert_cpu(sensitivity.voxels.data(), threshold, result.voxels.data(), voxels);
  } else {
    detail::invert_cuda(sensitivity.voxels.data(), threshold, result.voxels.data(), voxels, stream);
  }
  return result;
}

Image inverse_sensitivity(const Image& subset, const Image& whole, float fraction, Stream stream) {
  require_same(subset, whole, "sensitivity of the whole");
  require_fraction(fraction);
  Image result = like(subset, stream);
  largest_sensitivity(subset, stream);
  const detail::SubsetArrays arrays{subset.voxels.data(), whole.voxels.data(), fraction,
                                    fraction * largest_sensitivity(whole, stream), result.voxels.data()};
  const std::int64_t voxels = subset.voxels.size();
  if (on_host(subset.voxels.memory()))
    for_each_voxel(voxels, [&](std::int64_t v) { arrays.invert(v); });
  else
    detail::invert_subset_cuda(arrays, voxels, stream);
  return result;
}

std::int64_t em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                       double time_fraction, Stream stream) {
  const detail::EmArrays arrays = checked_arrays(estimate, inverse_sensitivity, backprojection, time_fraction);
  const std::int64_t voxels = estimate.voxels.size();
  return on_host(estimate.voxels.memory()) ? update_cpu(arrays, voxels) : detail::update_cuda(arrays, voxels, stream);
}

UpdateFaults penalised_em_update(Image& estimate, const Image& inverse_sensitivity, const Image& backprojection,
                                 double time_fraction, const PenaltyTerm& penalty, Stream stream) {
  require_same(estimate, penalty.gradient, "penalty's gradient");
  require_same(estimate, penalty.inverse_whole, "inverse sensitivity of the whole");
  const detail::PenalisedArrays arrays{checked_arrays(estimate, inverse_sensitivity, backprojection, time_fraction),
                                       penalty.gradient.voxels.data(), penalty.inverse_whole.voxels.data()};
  const std::int64_t voxels = estimate.voxels.size();
  return on_host(estimate.voxels.memory()) ? update_cpu(arrays, voxels) : detail::update_cuda(arrays, voxels, stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
namespace detail {

float largest_sensitivity_cuda(const float*, std::int64_t, Stream) {
  refuse_cuda();
}
void invert_cuda(const float*, float, float*, std::int64_t, Stream) {
  refuse_cuda();
}
void invert_subset_cuda(const SubsetArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
std::int64_t update_cuda(const EmArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
UpdateFaults update_cuda(const PenalisedArrays&, std::int64_t, Stream) {
  require_cuda();
  return {};
}

}  // namespace detail
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
