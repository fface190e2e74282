// Nested EM on a CUDA device: see nested_em.hpp. A thread has a voxel, with its coefficients in registers.
#include <span>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/faults.cuh"
#include "kernels/dynamic/nested_em_voxel.hpp"

namespace tofstream::detail {
namespace {

template <int functions>
__global__ void update_coefficients(NestedArrays arrays, std::int64_t voxels, unsigned long long* replaced) {
  const std::int64_t v = elementwise::element();
  count_fault(replaced, v < voxels ? nested_em_voxels<functions, 1>(arrays, v) : 0);
}

}  // namespace

std::int64_t nested_em_cuda(NestedArrays arrays, const std::vector<NestedRow>& rows, int functions, std::int64_t voxels,
                            Stream stream) {
  const auto on_device = Buffer<NestedRow>::from(std::span(rows)).to(Memory::device, stream);
  arrays.rows = on_device.data();
  Faults<1> replaced;
  if (voxels > 0)
    with_functions(functions, [&](auto count) {
      update_coefficients<count()>
          <<<elementwise::blocks(voxels), elementwise::threads, 0, stream>>>(arrays, voxels, replaced.words());
    });
  check_launch("update the coefficients of functions of time");
  return replaced.read(stream)[0];
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
