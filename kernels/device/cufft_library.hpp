// Fourier transforms by NVIDIA's cuFFT, which is loaded when it is first asked for: it is large (290 MB), and most
// installs need none of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/memory/memory.hpp"

namespace tofstream {

/// Empty where cuFFT can be used; otherwise why not and what to install, in one line.
std::string why_no_cufft();

/// Transforms are of floats. A complex number is two floats, real and imaginary part. A real transform keeps half of
/// the frequencies along the last axis: n / 2 + 1.
enum class FftKind { real_to_complex, complex_to_real, complex };

enum class FftDirection { forward, inverse };  // exp(-i...), exp(+i...); neither is scaled

/// Where the numbers of one side lie: element (i, j, k) of transform b is number
/// b * distance + ((i * embedded[1] + j) * embedded[2] + k) * stride, numbers being real or complex.
struct FftSide {
  std::vector<long long> embedded = {};  // of each axis, the slowest first (the first counts nothing); empty: packed
  long long stride = 1;
  long long distance = 0;  // 0: the product of `embedded`, times the stride
};

struct FftShape {
  FftKind kind = FftKind::complex;
  std::vector<long long> size;  // one to three axes, the slowest first: of the real numbers, where there are any
  long long batch = 1;
  FftSide in = {}, out = {};
};

/// A batch of transforms of one shape. Made once, since this takes milliseconds; one call at a time.
class CudaFft {
 public:
  /// Throws std::runtime_error with why_no_cufft() where there is none, and where it refuses the shape.
  explicit CudaFft(const FftShape& shape);
  ~CudaFft();
  CudaFft(CudaFft&& other) noexcept;
  CudaFft& operator=(CudaFft&& other) noexcept;

  /// Device memory that a transform uses beside its input and output. Plans may share it, one after the other on a
  /// stream.
  std::size_t work_bytes() const { return work_bytes_; }

  /// Queues the transforms on the stream; in and out may be the same. complex_to_real uses its input up. `direction` is
  /// read by complex transforms only. `work`: work_bytes() of device memory, aligned to 256 bytes as Buffers are.
  void queue(float* in, float* out, void* work, Stream stream, FftDirection direction = FftDirection::forward) const;

 private:
  FftKind kind_ = FftKind::complex;
  int plan_ = -1;  // none
  std::size_t work_bytes_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
