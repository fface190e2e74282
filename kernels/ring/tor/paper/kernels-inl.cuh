// The kernels of kernels.cuh: included by one file that is compiled with --use_fast_math and by one that is not.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/ring/tor/paper/kernels.cuh"
#include "kernels/ring/tor/weight-inl.hpp"

namespace tofstream::tor::paper {

/// f(r) in a texture, which joins its samples by lines, with fractions of 8 bits.
struct TextureTable {
  cudaTextureObject_t texture;
};
__device__ inline float interpolate(TextureTable table, float position) {
  return tex1D<float>(table.texture, position + 0.5f);
}

namespace {  // both files have kernels of their own

template <Radial radial>
__device__ auto weight_of(const Task& task, const Tube& tube) {
  if constexpr (radial == Radial::texture) {
    return single_lane::TubeWeight<float, false, TextureTable, true>(task.pass, tube, 1.0f, {task.texture});
  } else {
    return single_lane::TubeWeight<float, radial == Radial::gaussian, const float*, true>(task.pass, tube, 1.0f,
                                                                                          task.table);
  }
}

/// *target += value as GPUs before Fermi had to; returns the collisions: how often another thread changed the target
/// between this one's reading and writing it.
__device__ inline unsigned swap_in(float* target, float value) {
  auto* const bits = reinterpret_cast<unsigned*>(target);
  unsigned seen = 0, expected, tries = 0;  // a guess: the first comparison reads what is there
  do {
    expected = seen;
    seen = atomicCAS(bits, expected, __float_as_uint(__uint_as_float(expected) + value));
    ++tries;
  } while (seen != expected);
  return tries > 2 ? tries - 2 : 0;
}

/// *target += value, which counts for voxel().
template <class Voxel>
__device__ void add(const Task& task, float* target, float value, const Voxel& voxel) {
  if (task.hardware_atomics)
    atomicAdd(target, value);
  else
    task.collisions.note(swap_in(target, value), voxel);
}

/// Lines [begin, end): the block's equal share of all, as far as they can be of direction `axis`.
struct Share {
  std::int64_t begin, end;
};
__device__ inline Share share_of_block(const Task& task, int axis) {
  const std::int64_t count = task.lines.count(), block = blockIdx.x, blocks = gridDim.x;
  Share share{count * block / blocks, count * (block + 1) / blocks};
  if (task.partitioned) {
    share.begin = max(share.begin, task.axis_begin[axis]);
    share.end = min(share.end, task.axis_begin[axis + 1]);
  }
  return share;
}

/// The slices that the block goes through: all, or those between the first and the last that one of its lines meets.
__device__ inline SliceSpan span_of_block(const Task& task, Share share, int axis) {
  if (!task.skip_slices) return {axis, 0, task.slices[axis].count};
  __shared__ int first, end;
  if (threadIdx.x == 0) {
    first = task.slices[axis].count;
    end = 0;
  }
  __syncthreads();
  int own_first = task.slices[axis].count, own_end = 0;
  for (std::int64_t i = share.begin + threadIdx.x; i < share.end; i += blockDim.x) {
    const SliceSpan slices = task.lines.slices(i);
    if (slices.axis != axis || slices.first >= slices.end) continue;
    own_first = min(own_first, slices.first);
    own_end = max(own_end, slices.end);
  }
  atomicMin(&first, own_first);
  atomicMax(&end, own_end);
  __syncthreads();
  const SliceSpan span{axis, first, end};
  __syncthreads();  // the next direction sets them anew
  return span;
}

/// Rows [begin, end) of a slice, which a block holds in shared memory.
struct Tile {
  int axis, slice, begin, end;
};

/// The voxel of the image that a word of the tile holds.
__device__ inline std::int64_t voxel_of_word(const Slices& slices, Tile tile, int word) {
  const int row = word / slices.row_stride, column = word - row * slices.row_stride;
  return tile.slice * slices.slice_stride + (tile.begin + row) * slices.q_stride + column * slices.p_stride;
}

/// Calls visit(voxel of the image, word of the tile) for the tile's voxels, which the block's threads share.
template <class Visit>
__device__ void for_each_staged(const Slices& slices, Tile tile, Visit&& visit) {
  const int words = (tile.end - tile.begin) * slices.columns;
  for (int n = static_cast<int>(threadIdx.x); n < words; n += static_cast<int>(blockDim.x)) {
    const int row = n / slices.columns, column = n - row * slices.columns;
    visit(tile.slice * slices.slice_stride + (tile.begin + row) * slices.q_stride + column * slices.p_stride,
          row * slices.row_stride + column);
  }
}

/// Calls work(tile, share) for every tile that the block goes through, all its threads together.
template <class Work>
__device__ void for_each_tile(const Task& task, Work&& work) {
  for (int axis = 0; axis < 3; ++axis) {
    const Share share = share_of_block(task, axis);
    if (share.begin >= share.end) continue;
    const Slices& slices = task.slices[axis];
    const SliceSpan span = span_of_block(task, share, axis);
    for (int slice = span.first; slice < span.end; ++slice)
      for (int tile = 0; tile < slices.tiles; ++tile)
        work(Tile{axis, slice, slices.tile_begin(tile), slices.tile_end(tile)}, share);
  }
}

/// Calls visit(word of the tile, weight) for the voxels of line i in the tile.
template <Radial radial, bool fixed, bool unrolled, class Visit>
__device__ void for_each_in_tile(const Task& task, Tile tile, std::int64_t i, SliceSpan span, Visit&& visit) {
  const Slices& slices = task.slices[tile.axis];
  const Line line = task.lines.line(i, span);
  const Crossing at = line.crossing(tile.slice);
  if (slices.tiles > 1 && !Slices::meets(line.tube, at, tile.begin, tile.end)) return;
  for_each_voxel<unrolled>(
      slices.window<fixed>(line.tube, at, tile.begin, tile.end), at, weight_of<radial>(task, line.tube),
      [&](int column, int row, float weight) { visit((row - tile.begin) * slices.row_stride + column, weight); });
}

/// Calls visit(voxel of the image, weight) for the voxels of line i, slice after slice.
template <Radial radial, bool fixed, bool unrolled, class Visit>
__device__ void for_each_of_line(const Task& task, std::int64_t i, Visit&& visit) {
  const SliceSpan span = task.lines.slices(i);
  const Slices& slices = task.slices[span.axis];
  const Line line = task.lines.line(i, span);
  const auto weight_at = weight_of<radial>(task, line.tube);
  for (int slice = span.first; slice < span.end; ++slice) {
    const Crossing at = line.crossing(slice);
    for_each_voxel<unrolled>(
        slices.window<fixed>(line.tube, at, 0, slices.rows), at, weight_at, [&](int column, int row, float weight) {
          visit(slice * slices.slice_stride + row * slices.q_stride + column * slices.p_stride, weight);
        });
  }
}

/// Algorithm 1; not staged, a thread follows a line after the other through the image in global memory.
template <Radial radial, bool staged, bool fixed, bool unrolled>
__global__ void __launch_bounds__(1024)
    forward_kernel(const __grid_constant__ Task task, const float* __restrict__ image, float* __restrict__ sums) {
  if constexpr (staged) {
    extern __shared__ float voxels[];
    for_each_tile(task, [&](Tile tile, Share share) {
      for_each_staged(task.slices[tile.axis], tile,
                      [&](std::int64_t voxel, int word) { voxels[word] = __ldg(image + voxel); });
      __syncthreads();
      for (std::int64_t i = share.begin + threadIdx.x; i < share.end; i += blockDim.x) {
        const SliceSpan span = task.lines.slices(i);
        if (!span.has(tile.axis, tile.slice)) continue;
        float sum = 0;
        for_each_in_tile<radial, fixed, unrolled>(
            task, tile, i, span, [&](int word, float weight) { sum = fmaf(weight, voxels[word], sum); });
        sums[i] += sum;
      }
      __syncthreads();
    });
  } else {
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < task.lines.count(); i += threads) {
      float sum = 0;
      for_each_of_line<radial, fixed, unrolled>(
          task, i, [&](std::int64_t voxel, float weight) { sum = fmaf(weight, __ldg(image + voxel), sum); });
      sums[i] += sum;
    }
  }
}

/// Algorithm 2. As printed, each block reads a slice, adds to it and writes it back, which loses sums where two blocks
/// hold one slice. Here a block adds to zeros, and then its sums to the image.
template <Radial radial, bool staged, bool fixed, bool unrolled>
__global__ void __launch_bounds__(1024)
    back_kernel(const __grid_constant__ Task task, const float* __restrict__ values, float* image) {
  if constexpr (staged) {
    extern __shared__ float voxels[];
    for_each_tile(task, [&](Tile tile, Share share) {
      for_each_staged(task.slices[tile.axis], tile, [&](std::int64_t, int word) { voxels[word] = 0; });
      __syncthreads();
      for (std::int64_t i = share.begin + threadIdx.x; i < share.end; i += blockDim.x) {
        const SliceSpan span = task.lines.slices(i);
        if (!span.has(tile.axis, tile.slice)) continue;
        const float value = values[i];
        if (value == 0) continue;
        for_each_in_tile<radial, fixed, unrolled>(task, tile, i, span, [&](int word, float weight) {
          if (weight > 0)
            add(task, voxels + word, value * weight, [&] { return voxel_of_word(task.slices[tile.axis], tile, word); });
        });
      }
      __syncthreads();
      for_each_staged(task.slices[tile.axis], tile, [&](std::int64_t voxel, int word) {
        if (voxels[word] == 0) return;
        if (task.hardware_atomics)
          atomicAdd(image + voxel, voxels[word]);
        else
          swap_in(image + voxel, voxels[word]);  // between blocks, which is not counted
      });
      __syncthreads();
    });
  } else {
    const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < task.lines.count(); i += threads) {
      const float value = values[i];
      if (value == 0) continue;
      for_each_of_line<radial, fixed, unrolled>(task, i, [&](std::int64_t voxel, float weight) {
        if (weight > 0) add(task, image + voxel, value * weight, [&] { return voxel; });
      });
    }
  }
}

/// Calls use.operator()<radial, staged, fixed, unrolled>() with what the launch says.
template <class Use>
void with_variant(const Launch& launch, Use&& use) {
  const auto loops = [&]<Radial radial, bool staged, bool fixed>() {
    launch.unrolled ? use.template operator()<radial, staged, fixed, true>()
                    : use.template operator()<radial, staged, fixed, false>();
  };
  const auto bounds = [&]<Radial radial, bool staged>() {
    launch.fixed_bounds ? loops.template operator()<radial, staged, true>()
                        : loops.template operator()<radial, staged, false>();
  };
  const auto staging = [&]<Radial radial>() {
    launch.staged ? bounds.template operator()<radial, true>() : bounds.template operator()<radial, false>();
  };
  switch (launch.radial) {
    case Radial::gaussian:
      return staging.template operator()<Radial::gaussian>();
    case Radial::other:
      return staging.template operator()<Radial::other>();
    case Radial::texture:
      return staging.template operator()<Radial::texture>();
  }
}

template <class Kernel, class... Arguments>
void queue(Kernel kernel, const Task& task, const Launch& launch, Arguments... arguments) {
  int bytes = 0;
  for (const Slices& slices : task.slices) bytes = max(bytes, slices.tile_words() * static_cast<int>(sizeof(float)));
  if (!launch.staged) bytes = 0;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "give a block shared memory for a slice");
  kernel<<<launch.blocks, launch.threads, static_cast<std::size_t>(bytes), launch.stream>>>(task, arguments...);
  check_launch("project by the paper's scheme");
}

}  // namespace

template <bool fast_math>
void queue_forward(const Task& task, const Launch& launch, const float* image, float* sums) {
  with_variant(launch, [&]<Radial radial, bool staged, bool fixed, bool unrolled>() {
    queue(forward_kernel<radial, staged, fixed, unrolled>, task, launch, image, sums);
  });
}

template <bool fast_math>
void queue_back(const Task& task, const Launch& launch, const float* values, float* image) {
  with_variant(launch, [&]<Radial radial, bool staged, bool fixed, bool unrolled>() {
    queue(back_kernel<radial, staged, fixed, unrolled>, task, launch, values, image);
  });
}

}  // namespace tofstream::tor::paper
// SPDX-License-Identifier: Apache-2.0
