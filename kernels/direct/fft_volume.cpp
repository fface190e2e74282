// Transforms of volumes: see fft_volume.hpp.
#include "kernels/direct/fft_volume.hpp"

#include <algorithm>
#include <cmath>

#include <kissfft/kissfft.hh>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "kernels/direct/kernel_tables.hpp"
#include "kernels/math/fft_size.hpp"

namespace tofstream {

void VolumeFft::transform(std::vector<std::complex<float>>& volume, bool is_inverse) const {
  const std::size_t strides[] = {1, static_cast<std::size_t>(size_[0]),
                                 static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1])};
  for (int axis = 0; axis < 3; ++axis) {
    const auto n = static_cast<std::size_t>(size_[axis]);
    const std::size_t stride = strides[axis], lines = points() / n;
    constexpr std::size_t lines_a_task = 64;
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, lines, lines_a_task), [&](const auto& range) {
      const kissfft<float> line_fft(n, is_inverse);
      std::vector<std::complex<float>> in(n), out(n);
      for (std::size_t line = range.begin(); line < range.end(); ++line) {
        std::complex<float>* const first = volume.data() + line / stride * stride * n + line % stride;
        for (std::size_t i = 0; i < n; ++i) in[i] = first[i * stride];
        line_fft.transform(in.data(), out.data());
        for (std::size_t i = 0; i < n; ++i) first[i * stride] = out[i];
      }
    });
  }
}

int fft_padded_size(const Grid& grid, const DirectSettings& settings, const RadialProfiles& profiles,
                    const std::vector<ViewFrame>& frames, int axis) {
  if (settings.fft_ends == FftEnds::periodic) return grid.size[axis];
  const Vec3d half = kernel_half_axes_mm(settings.kernel, profiles);
  double reach_mm = std::max({half.x, half.y, half.z});
  if (axis == 2) {
    reach_mm = 0;
    for (const ViewFrame& look : frames)
      reach_mm = std::max(reach_mm, std::hypot(half.x * look.sin_q, half.z * look.cos_q));
  }
  const int reach = static_cast<int>(std::ceil(reach_mm / static_cast<double>(grid.voxel_mm[axis])));
  return quick_fft_size(std::max(grid.size[axis] + reach, 2 * reach + 1));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
