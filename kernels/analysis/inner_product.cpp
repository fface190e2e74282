// Inner product: see inner_product.hpp.
#include "kernels/analysis/inner_product.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "kernels/analysis/compare.hpp"

namespace tofstream {

namespace {

double host_product(const float* a, const float* b, std::int64_t voxels) {
  // A deterministic reduction: its tree does not depend on which thread was free.
  return tbb::parallel_deterministic_reduce(
      tbb::blocked_range<std::int64_t>(0, voxels, 1 << 16), 0.0,
      [&](const auto& range, double sum) {
        for (std::int64_t v = range.begin(); v < range.end(); ++v)
          sum += static_cast<double>(a[v]) * static_cast<double>(b[v]);
        return sum;
      },
      [](double x, double y) { return x + y; });
}

}  // namespace

double inner_product(const Image& a, const Image& b) {
  require_same_grid(a.grid, b.grid);
  const auto host = [](const Image& image) {
    Image copy = on_host(image.voxels.memory()) ? Image{} : image.to(Memory::host);
    synchronize(nullptr);
    return copy;
  };
  const Image a_copy = host(a), b_copy = host(b);
  return host_product(a_copy.voxels.empty() ? a.voxels.data() : a_copy.voxels.data(),
                      b_copy.voxels.empty() ? b.voxels.data() : b_copy.voxels.data(), a.grid.voxels());
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
