// The resolution by radius and z on a CUDA device: see psf_operator.hpp. A thread makes a few voxels that follow one
// another along z, which share most weights; neighbours in x read neighbouring addresses.
#include "kernels/cuda/check.hpp"
#include "kernels/psf/psf_operator.hpp"

namespace tofstream::detail {
namespace {

constexpr int block_x = 32, block_y = 8;
constexpr int slices = 4;  // of a thread

template <bool is_adjoint, bool is_one_profile>
__global__ void blur_by_taps(TapStage stage, const float* from, float* to) {
  const int x = static_cast<int>(blockIdx.x * block_x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * block_y + threadIdx.y);
  const int z = static_cast<int>(blockIdx.z) * slices;
  if (x >= stage.size[0] || y >= stage.size[1]) return;
  float sums[slices] = {};
  for (int tap = 0; tap < stage.taps; ++tap) {
    const Tap d = stage.offsets[tap];
    const int sign = is_adjoint ? 1 : -1;
    const int from_x = x + sign * d.x, from_y = y + sign * d.y, from_z = z + sign * d.z;
    if (!stage.holds(from_x, from_y, 0)) continue;
    const int source_x = is_adjoint ? x : from_x, source_y = is_adjoint ? y : from_y;
    const float weight = is_one_profile ? stage.row(0, tap, source_y)[source_x] : 0.0f;
    for (int k = 0; k < slices; ++k) {
      if (z + k >= stage.size[2] || from_z + k < 0 || from_z + k >= stage.size[2]) continue;
      const float own =
          is_one_profile ? weight : stage.weight(tap, source_x, source_y, is_adjoint ? z + k : from_z + k);
      sums[k] += own * from[stage.index(from_x, from_y, from_z + k)];
    }
  }
  for (int k = 0; k < slices; ++k)
    if (z + k < stage.size[2]) to[stage.index(x, y, z + k)] = sums[k];
}

}  // namespace

void tap_stage_cuda(const TapStage& stage, bool is_adjoint, const float* from, float* to, Stream stream) {
  const auto over = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
  const dim3 blocks(over(stage.size[0], block_x), over(stage.size[1], block_y), over(stage.size[2], slices));
  const dim3 threads(block_x, block_y);
  if (stage.profiles == 1) {
    if (is_adjoint)
      blur_by_taps<true, true><<<blocks, threads, 0, stream>>>(stage, from, to);
    else
      blur_by_taps<false, true><<<blocks, threads, 0, stream>>>(stage, from, to);
  } else {
    if (is_adjoint)
      blur_by_taps<true, false><<<blocks, threads, 0, stream>>>(stage, from, to);
    else
      blur_by_taps<false, false><<<blocks, threads, 0, stream>>>(stage, from, to);
  }
  check_launch("blur by a resolution of radius and z");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
