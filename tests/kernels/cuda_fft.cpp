// Transforms by cuFFT against sums by definition: real and complex, several axes, batches that lie apart in memory.
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/device/cufft_library.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using FftNumbers = std::vector<std::complex<double>>;

/// [i][j] of one transform of m x n numbers.
FftNumbers transform_by_definition(const FftNumbers& in, int m, int n, double sign) {
  FftNumbers out(in.size());
  for (int a = 0; a < m; ++a)
    for (int b = 0; b < n; ++b)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          out[static_cast<std::size_t>(a * n + b)] +=
              in[static_cast<std::size_t>(i * n + j)] *
              std::polar(1.0, sign * 2 * std::numbers::pi * (a * i / double(m) + b * j / double(n)));
  return out;
}

bool cufft_or_skip() {
  if (!gpu_or_skip()) return false;
  const std::string reason = why_no_cufft();
  if (!reason.empty()) MESSAGE("skipped: ", reason);
  return reason.empty();
}

std::vector<float> transformed_on_gpu(const FftShape& shape, const std::vector<float>& in, std::int64_t floats,
                                      FftDirection direction = FftDirection::forward) {
  const CudaFft fft(shape);
  Buffer<float> from = Buffer<float>::from(in).to(Memory::device);
  auto to = Buffer<float>::zeros(Memory::device, floats);
  Buffer<char> work(Memory::device, static_cast<std::int64_t>(fft.work_bytes()) + 1);
  fft.queue(from.data(), to.data(), work.data(), nullptr, direction);
  return to.to_vector();
}

}  // namespace

TEST_CASE("cuFFT: real transforms of a batch in two axes, there and back") {
  if (!cufft_or_skip()) return;
  constexpr int m = 6, n = 10, half = n / 2 + 1, batch = 3;
  const std::vector<float> in = random_numbers(batch * m * n, 1);
  const FftShape forward{FftKind::real_to_complex, {m, n}, batch}, inverse{FftKind::complex_to_real, {m, n}, batch};
  const std::vector<float> spectrum = transformed_on_gpu(forward, in, 2 * batch * m * half);
  for (int b = 0; b < batch; ++b) {
    const auto first = in.begin() + b * m * n;
    const FftNumbers expected = transform_by_definition(FftNumbers(first, first + m * n), m, n, -1);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < half; ++j) {
        const auto at = static_cast<std::size_t>(2 * ((b * m + i) * half + j));
        const std::complex<double> found(spectrum[at], spectrum[at + 1]);
        CHECK(std::abs(found - expected[static_cast<std::size_t>(i * n + j)]) < 1e-5);
      }
  }
  const std::vector<float> again = transformed_on_gpu(inverse, spectrum, batch * m * n);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(std::abs(again[i] / (m * n) - in[i]) < 1e-6);  // of numbers up to 1
}

TEST_CASE("cuFFT: complex transforms whose numbers lie apart") {
  if (!cufft_or_skip()) return;
  constexpr int n = 12, batch = 5;  // number i of transform b is number i * batch + b
  const std::vector<float> in = random_numbers(2 * n * batch, 2);
  const FftSide side{.embedded = {n}, .stride = batch, .distance = 1};
  const std::vector<float> found =
      transformed_on_gpu({FftKind::complex, {n}, batch, side, side}, in, 2 * n * batch, FftDirection::inverse);
  for (int b = 0; b < batch; ++b) {
    FftNumbers column;
    for (std::size_t i = 0; i < n; ++i) column.emplace_back(in[2 * (i * batch + b)], in[2 * (i * batch + b) + 1]);
    const FftNumbers expected = transform_by_definition(column, 1, n, 1);
    for (std::size_t i = 0; i < n; ++i)
      CHECK(std::abs(std::complex<double>(found[2 * (i * batch + b)], found[2 * (i * batch + b) + 1]) - expected[i]) <
            1e-5);
  }
}

TEST_CASE("cuFFT: three axes, and what it cannot do is said in one line") {
  if (!cufft_or_skip()) return;
  const std::vector<float> in = random_numbers(4 * 6 * 10, 3);
  const std::vector<float> spectrum = transformed_on_gpu({FftKind::real_to_complex, {4, 6, 10}}, in, 2 * 4 * 6 * 6);
  double sum = 0;
  for (const float value : in) sum += static_cast<double>(value);
  CHECK(spectrum[0] == approx(sum).epsilon(1e-6));
  const std::vector<float> again = transformed_on_gpu({FftKind::complex_to_real, {4, 6, 10}}, spectrum, 4 * 6 * 10);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(std::abs(again[i] / 240 - in[i]) < 1e-6);
  CHECK_THROWS_AS(CudaFft({FftKind::complex, {-4}}), std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
