// Nested EM on a CUDA device: see nested_em.hpp. A thread has a voxel, with its coefficients in registers.
#include <span>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/device/faults.cuh"
#include "kernels/dynamic/nested_em_voxel.hpp"

namespace tofstream::detail {
namespace {

/// What EM makes of a frame, made anew for each step: a voxel's frames have no room in registers.
template <int functions>
struct FramesMadeAnew {
  const NestedArrays& arrays;
  std::int64_t v;
  VoxelCoefficients<functions, 1> before;
  float em[1];
  TOFSTREAM_HOST_DEVICE const float* operator()(int frame) {
    em_of_frame(arrays, frame, v, before, em);
    return em;
  }
};

template <int functions>
__global__ void update_coefficients(NestedArrays arrays, std::int64_t voxels, unsigned long long* replaced) {
  const std::int64_t v = elementwise::element();
  int bad = 0;
  if (v < voxels) {
    auto theta = VoxelCoefficients<functions, 1>::at(arrays, v);
    FramesMadeAnew<functions> frames{arrays, v, theta, {}};
    inner_steps(arrays, theta, frames);
    bad = theta.write(arrays, v);
  }
  count_fault(replaced, bad);
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
