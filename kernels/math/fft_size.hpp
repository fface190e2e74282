// Lengths of discrete Fourier transforms that are quick.
#pragma once

namespace tofstream {

/// The least number from n on that has no prime factor above 5.
inline int quick_fft_size(int n) {
  for (;; ++n) {
    int rest = n;
    for (const int factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
