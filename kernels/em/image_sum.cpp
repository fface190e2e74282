// Sums of images on the CPU, and the choice of backend: see image_sum.hpp.
#include "kernels/em/image_sum.hpp"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/em/image_sum_voxel.hpp"
#include "kernels/em/update_images.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

void queue_difference(const detail::DifferenceArrays& arrays, std::int64_t count, Memory memory, Stream stream) {
  if (!on_host(memory)) return detail::add_difference_cuda(arrays, count, stream);
  constexpr std::int64_t grain = 1 << 15;
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [&](const auto& range) {
    for (std::int64_t v = range.begin(); v < range.end(); ++v) detail::add_difference_voxel(arrays, v);
  });
}

}  // namespace

void add_values(float* sum, const float* plus, std::int64_t count, Memory memory, Stream stream) {
  queue_difference({sum, plus, nullptr, 1}, count, memory, stream);
}

void add_difference(Image& sum, double factor, const Image& plus, const Image* minus, Stream stream) {
  detail::require_like("sum of images", sum, plus, "image that is added");
  if (minus) detail::require_like("sum of images", sum, *minus, "image that is subtracted");
  if (!std::isfinite(factor)) throw std::invalid_argument(fmt::format("sum of images: the factor is {}", factor));
  const detail::DifferenceArrays arrays{sum.voxels.data(), plus.voxels.data(), minus ? minus->voxels.data() : nullptr,
                                        static_cast<float>(factor)};
  queue_difference(arrays, sum.voxels.size(), sum.voxels.memory(), stream);
  if (!on_host(sum.voxels.memory())) synchronize(stream);
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::add_difference_cuda(const DifferenceArrays&, std::int64_t, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
