// The lines of a histo-image's points on a GPU, a thread a point: see histo_lines.hpp.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/direct/histo_lines.hpp"

namespace tofstream::detail {

namespace {

__global__ void line_of_each_point(HistoLinesOfView view, std::int64_t points, LineArrays arrays) {
  const std::int64_t p = elementwise::element();
  if (p < points) arrays.set(p, view.lor(p));
}

__global__ void expected_of_each_point(const float* before, double factor, const float* terms, const float* density,
                                       std::int64_t points, float* to) {
  const std::int64_t p = elementwise::element();
  if (p < points) to[p] = expected(before, factor, terms, density, p);
}

}  // namespace

void fill_lines_cuda(const HistoLinesOfView& view, const LineArrays& arrays, Stream stream) {
  const std::int64_t points = view.lattice.points();
  line_of_each_point<<<elementwise::blocks(points), elementwise::threads, 0, stream>>>(view, points, arrays);
  check_launch("make the lines of a histo-image's points");
}

void add_expected_cuda(const float* before, double factor, const float* terms, const float* density,
                       std::int64_t points, float* to, Stream stream) {
  if (points == 0) return;
  expected_of_each_point<<<elementwise::blocks(points), elementwise::threads, 0, stream>>>(before, factor, terms,
                                                                                           density, points, to);
  check_launch("add what is expected at a histo-image's points");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
