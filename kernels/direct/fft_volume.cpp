// Transforms of volumes: see fft_volume.hpp.
#include "kernels/direct/fft_volume.hpp"

#include <kissfft/kissfft.hh>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

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

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
