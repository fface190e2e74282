// The resolution by radius and z on a CUDA device: see psf_operator.hpp. A thread makes a few voxels that follow one
// another along z, which share most weights.
#include <cstddef>
#include <stdexcept>

#include "kernels/cuda/check.hpp"
#include "kernels/psf/psf_operator.hpp"

namespace tofstream::detail {
namespace {

constexpr int block_x = 32, block_y = 8, block_threads = block_x * block_y;
constexpr int slices = 8, fours = slices / 4;  // of a thread

/// Where a block's voxels begin. Blocks that follow one another are neighbours along z: they read the same weights.
struct FirstVoxel {
  int x, y, z;
  __device__ FirstVoxel()
      : x(static_cast<int>(blockIdx.y) * block_x),
        y(static_cast<int>(blockIdx.z) * block_y),
        z(static_cast<int>(blockIdx.x) * slices) {}
};

/// The first voxel of a thread, and what its slices make.
struct ThreadVoxels {
  int x, y, z;
  float sums[slices] = {};

  __device__ ThreadVoxels() {
    const FirstVoxel first;
    x = first.x + static_cast<int>(threadIdx.x);
    y = first.y + static_cast<int>(threadIdx.y);
    z = first.z;
  }
  __device__ bool is_in(const TapStage& stage) const { return x < stage.size[0] && y < stage.size[1]; }
  __device__ void store(const TapStage& stage, float* to) const {
#pragma unroll
    for (int k = 0; k < slices; ++k)
      if (z + k < stage.size[2]) to[stage.index(x, y, z + k)] = sums[k];
  }
};

/// What a block's voxels read in their slices, in shared memory: [four][y][x] of four slices, 0 beyond the image.
struct Tile {
  int width, height;

  TOFSTREAM_HOST_DEVICE explicit Tile(const TapStage& stage)
      : width(block_x + 2 * stage.reach.x), height(block_y + 2 * stage.reach.y) {}
  TOFSTREAM_HOST_DEVICE int columns() const { return width * height; }
  std::size_t bytes() const { return static_cast<std::size_t>(columns()) * fours * sizeof(float4); }

  __device__ void fill(const TapStage& stage, const float* from, float4* values) const {
    const FirstVoxel first;
    const auto value = [&](int x, int y, int z) {
      return stage.holds(x, y, z) ? __ldg(from + stage.index(x, y, z)) : 0.0f;
    };
    for (int n = static_cast<int>(threadIdx.y * block_x + threadIdx.x); n < fours * columns(); n += block_threads) {
      const int column = n % columns(), x = first.x - stage.reach.x + column % width,
                y = first.y - stage.reach.y + column / width, z = first.z + 4 * (n / columns());
      values[n] = {value(x, y, z), value(x, y, z + 1), value(x, y, z + 2), value(x, y, z + 3)};
    }
  }
};

/// Weights that do not change along z.
struct OneProfile {
  __device__ OneProfile(const TapStage&, int) {}
  /// Weights of a tap whose weights in profile 0 begin at `of_tap`, at a place of the plane.
  __device__ void read(const TapStage&, const float* of_tap, int place, float (&weights)[slices]) const {
    const float weight = __ldg(of_tap + place);
#pragma unroll
    for (float& of_slice : weights) of_slice = weight;
  }
};

/// Weights between those of two profiles, which most slices share that follow one another.
struct MixedProfiles {
  int lower[slices];
  float part[slices];
  bool are_alike = true;

  /// The profiles of slices from z on; those beyond the image have the weights of its last or first.
  __device__ MixedProfiles(const TapStage& stage, int z) {
#pragma unroll
    for (int k = 0; k < slices; ++k) {
      const int slice = min(max(z + k, 0), stage.size[2] - 1);
      lower[k] = __ldg(stage.lower + slice);
      part[k] = __ldg(stage.part + slice);
      are_alike &= lower[k] == lower[0];
    }
  }
  __device__ void read(const TapStage& stage, const float* of_tap, int place, float (&weights)[slices]) const {
    const float* const at = of_tap + place;
    Two two(stage, at, lower[0]);
    if (are_alike) {
#pragma unroll
      for (int k = 0; k < slices; ++k) weights[k] = two.mixed(part[k]);
      return;
    }
#pragma unroll
    for (int k = 0; k < slices; ++k) {
      if (k > 0 && lower[k] != lower[k - 1]) two = Two(stage, at, lower[k]);
      weights[k] = two.mixed(part[k]);
    }
  }

 private:
  struct Two {
    float below, change;
    __device__ Two(const TapStage& stage, const float* at, int lower) {
      const std::int64_t profile = stage.taps * stage.plane();
      below = __ldg(at + lower * profile);
      change = __ldg(at + min(lower + 1, stage.profiles - 1) * profile) - below;
    }
    __device__ float mixed(float part) const { return below + part * change; }
  };
};

/// The stage whose taps lie in the voxel's slice.
template <bool is_adjoint, class Profiles>
__global__ void __launch_bounds__(block_threads) blur_across(TapStage stage, const float* from, float* to) {
  extern __shared__ float4 values[];
  const Tile tile(stage);
  tile.fill(stage, from, values);
  __syncthreads();
  ThreadVoxels voxels;
  if (!voxels.is_in(stage)) return;
  const Profiles profiles(stage, voxels.z);
  const int place = voxels.x + stage.size[0] * voxels.y,
            own = static_cast<int>(threadIdx.x) + stage.reach.x +
                  tile.width * (static_cast<int>(threadIdx.y) + stage.reach.y);
  const float* of_tap = stage.weights;
  for (int tap = 0; tap < stage.taps; ++tap, of_tap += stage.plane()) {
    const int sign = is_adjoint ? 1 : -1, dx = sign * __ldg(&stage.offsets[tap].x),
              dy = sign * __ldg(&stage.offsets[tap].y);
    // Weights are those of the source: the voxel that is read, or for the adjoint the one that is written.
    if (!is_adjoint && !stage.holds(voxels.x + dx, voxels.y + dy, 0)) continue;
    float weights[slices];
    profiles.read(stage, of_tap, is_adjoint ? place : place + dx + stage.size[0] * dy, weights);
    const float4* const source = values + own + dx + tile.width * dy;
#pragma unroll
    for (int four = 0; four < fours; ++four) {
      const float4 value = source[four * tile.columns()];
      voxels.sums[4 * four] += weights[4 * four] * value.x;
      voxels.sums[4 * four + 1] += weights[4 * four + 1] * value.y;
      voxels.sums[4 * four + 2] += weights[4 * four + 2] * value.z;
      voxels.sums[4 * four + 3] += weights[4 * four + 3] * value.w;
    }
  }
  voxels.store(stage, to);
}

/// The stage whose taps lie along z.
template <bool is_adjoint, class Profiles>
__global__ void __launch_bounds__(block_threads) blur_along(TapStage stage, const float* from, float* to) {
  ThreadVoxels voxels;
  if (!voxels.is_in(stage)) return;
  const Profiles own(stage, voxels.z);
  const float* of_tap = stage.weights;
  for (int tap = 0; tap < stage.taps; ++tap, of_tap += stage.plane()) {
    const int by = is_adjoint ? __ldg(&stage.offsets[tap].z) : -__ldg(&stage.offsets[tap].z);
    const int first = voxels.z + by;
    float weights[slices];
    (is_adjoint ? own : Profiles(stage, first)).read(stage, of_tap, voxels.x + stage.size[0] * voxels.y, weights);
    const float* const source = from + stage.index(voxels.x, voxels.y, 0) + first * stage.plane();
#pragma unroll
    for (int k = 0; k < slices; ++k)
      if (stage.holds(0, 0, first + k)) voxels.sums[k] += weights[k] * __ldg(source + k * stage.plane());
  }
  voxels.store(stage, to);
}

template <bool is_adjoint, class Profiles>
auto kernel_of(const TapStage& stage) {
  return stage.reach.z > 0 ? blur_along<is_adjoint, Profiles> : blur_across<is_adjoint, Profiles>;
}
template <bool is_adjoint>
auto kernel_of(const TapStage& stage) {
  return stage.profiles == 1 ? kernel_of<is_adjoint, OneProfile>(stage) : kernel_of<is_adjoint, MixedProfiles>(stage);
}

std::size_t shared_bytes(const TapStage& stage) {
  return stage.reach.z > 0 ? 0 : Tile(stage).bytes();
}

}  // namespace

void require_shared_memory(const TapStage& stage) {
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "ask for shared memory");
  if (shared_bytes(stage) > static_cast<std::size_t>(most))
    throw std::invalid_argument(
        "the widths reach over more voxels than this GPU's shared memory holds: take larger voxels, or backend: cpu");
}

void tap_stage_cuda(const TapStage& stage, bool is_adjoint, const float* from, float* to, Stream stream) {
  const auto over = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
  const dim3 blocks(over(stage.size[2], slices), over(stage.size[0], block_x), over(stage.size[1], block_y));
  const auto kernel = is_adjoint ? kernel_of<true>(stage) : kernel_of<false>(stage);
  const std::size_t bytes = shared_bytes(stage);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             "take shared memory");
  kernel<<<blocks, dim3(block_x, block_y), bytes, stream>>>(stage, from, to);
  check_launch("blur by a resolution of radius and z");
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
