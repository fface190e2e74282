// Discrete Fourier transforms of volumes of complex numbers, x fastest, on all threads.
#pragma once

#include <complex>
#include <vector>

#include "kernels/direct/direct.hpp"

namespace tofstream {

class VolumeFft {
 public:
  /// Sizes along x, y, z without prime factors above 5 (quick_fft_size) are quick.
  VolumeFft(int size_x, int size_y, int size_z) : size_{size_x, size_y, size_z} {}

  int size(int axis) const { return size_[axis]; }
  std::size_t points() const {
    return static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1]) * static_cast<std::size_t>(size_[2]);
  }
  std::size_t index(int i, int j, int k) const {
    return static_cast<std::size_t>(i) +
           static_cast<std::size_t>(size_[0]) *
               (static_cast<std::size_t>(j) + static_cast<std::size_t>(size_[1]) * static_cast<std::size_t>(k));
  }
  /// In place.
  void forward(std::vector<std::complex<float>>& volume) const { transform(volume, false); }
  /// In place, without the factor 1 / points().
  void inverse(std::vector<std::complex<float>>& volume) const { transform(volume, true); }

 private:
  void transform(std::vector<std::complex<float>>& volume, bool is_inverse) const;
  int size_[3];
};

/// Along an axis: room for the image and for what a kernel of any view brings around, or with periodic ends the image's
/// size.
int fft_padded_size(const Grid& grid, const DirectSettings& settings, const RadialProfiles& profiles,
                    const std::vector<ViewFrame>& frames, int axis);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
