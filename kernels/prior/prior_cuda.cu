// Priors on a CUDA device: see prior.hpp.
#include <cstdint>
#include <variant>

#include <cub/block/block_reduce.cuh>

#include "kernels/cuda/check.hpp"
#include "kernels/prior/neighbour_columns.cuh"
#include "kernels/prior/prior_cuda.hpp"

namespace tofstream::detail {
namespace {

// A block's voxels: rows along x are read together, and a few rows and slices share their neighbours in the cache.
constexpr int box_x = 32, box_y = 4, box_z = 2;

struct PriorVoxel {
  int i, j, k;
  __device__ PriorVoxel()
      : i(static_cast<int>(blockIdx.x * box_x + threadIdx.x)),
        j(static_cast<int>(blockIdx.y * box_y + threadIdx.y)),
        k(static_cast<int>(blockIdx.z * box_z + threadIdx.z)) {}
  __device__ bool is_in(const int (&size)[3]) const { return i < size[0] && j < size[1] && k < size[2]; }
};

struct PriorSize {
  int size[3];
  std::int64_t voxels() const { return static_cast<std::int64_t>(size[0]) * size[1] * size[2]; }
  dim3 blocks() const {
    const auto over = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
    return {over(size[0], box_x), over(size[1], box_y), over(size[2], box_z)};
  }
};

template <class Terms, class Part>
__global__ void sum_prior(Terms terms, Part part, PriorSize image, float* sums) {
  const PriorVoxel at;
  if (!at.is_in(image.size)) return;
  sums[at.i + image.size[0] * (at.j + static_cast<std::int64_t>(image.size[1]) * at.k)] =
      terms.template sum<float>(part, at.i, at.j, at.k);
}

/// The value of each block's voxels, by blocks in a fixed order.
template <class Terms>
__global__ void value_of_blocks(Terms terms, PriorSize image, double* values) {
  using Reduce = cub::BlockReduce<double, box_x, cub::BLOCK_REDUCE_WARP_REDUCTIONS, box_y, box_z>;
  __shared__ typename Reduce::TempStorage storage;
  const PriorVoxel at;
  const double own = at.is_in(image.size) ? terms.template sum<double>(HalfValue{}, at.i, at.j, at.k) : 0.0;
  const double sum = Reduce(storage).Sum(own);
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
    values[blockIdx.x + gridDim.x * (blockIdx.y + std::int64_t{gridDim.y} * blockIdx.z)] = sum;
}

PriorSize size_of(const int (&size)[3]) {
  return {{size[0], size[1], size[2]}};
}

template <class Terms, class Part>
void queue_voxels(const Terms& terms, PriorSize image, Part part, float* sums, Stream stream) {
  sum_prior<<<image.blocks(), dim3(box_x, box_y, box_z), 0, stream>>>(terms, part, image, sums);
}

template <class Terms, class Part>
void queue_sums(const Terms& terms, PriorSize image, Part part, float* sums, Stream stream) {
  queue_voxels(terms, image, part, sums, stream);
}

template <class P, class Part>
void queue_sums(const NeighbourTerms<float, P>& terms, PriorSize image, Part part, float* sums, Stream stream) {
  const NeighbourArrays<float>& arrays = terms.arrays;
  if (!has_whole_columns(arrays)) return queue_voxels(terms, image, part, sums, stream);
  const auto kernel = arrays.kappa ? sum_columns<true, Part, P> : sum_columns<false, Part, P>;
  kernel<<<blocks_of_columns(arrays), columns_a_block, 0, stream>>>(arrays, part, terms.potential, sums);
}

template <class Terms>
void launch_sums(const Terms& terms, PriorSize image, PriorPart part, float* sums, Stream stream) {
  if (image.voxels() > 0) with_part(part, [&](auto which) { queue_sums(terms, image, which, sums, stream); });
  check_launch("differentiate the penalty");
  synchronize(stream);
}

template <class Terms>
double launch_value(const Terms& terms, PriorSize image, Stream stream) {
  if (image.voxels() == 0) return 0;
  const dim3 blocks = image.blocks();
  Buffer<double> values(Memory::device, std::int64_t{blocks.x} * blocks.y * blocks.z, stream);
  value_of_blocks<<<blocks, dim3(box_x, box_y, box_z), 0, stream>>>(terms, image, values.data());
  check_launch("evaluate the penalty");
  double sum = 0;
  for (const double value : values.to_vector(stream)) sum += value;
  return sum;
}

}  // namespace

void sum_cuda(const NeighbourArrays<float>& arrays, const Potential& potential, PriorPart part, float* sums,
              Stream stream) {
  std::visit(
      [&](const auto& psi) {
        launch_sums(NeighbourTerms<float, std::decay_t<decltype(psi)>>{arrays, psi}, size_of(arrays.size), part, sums,
                    stream);
      },
      potential);
}

void sum_cuda(const TotalVariationArrays<float>& arrays, PriorPart part, float* sums, Stream stream) {
  launch_sums(arrays, size_of(arrays.size), part, sums, stream);
}

void sum_cuda(const ParallelLevelSetsArrays<float>& arrays, PriorPart part, float* sums, Stream stream) {
  launch_sums(arrays, size_of(arrays.size), part, sums, stream);
}

double value_cuda(const NeighbourArrays<float>& arrays, const Potential& potential, Stream stream) {
  return std::visit(
      [&](const auto& psi) {
        return launch_value(NeighbourTerms<float, std::decay_t<decltype(psi)>>{arrays, psi}, size_of(arrays.size),
                            stream);
      },
      potential);
}

double value_cuda(const TotalVariationArrays<float>& arrays, Stream stream) {
  return launch_value(arrays, size_of(arrays.size), stream);
}

double value_cuda(const ParallelLevelSetsArrays<float>& arrays, Stream stream) {
  return launch_value(arrays, size_of(arrays.size), stream);
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
