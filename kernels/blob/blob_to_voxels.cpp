// Sampling of blobs on the CPU, and the choice of backend: see blob_to_voxels.hpp.
#include "kernels/blob/blob_to_voxels.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include <tbb/parallel_for.h>

#include "kernels/blob/blob.hpp"
#include "kernels/blob/blob_sum.hpp"
#include "kernels/memory/refuse.hpp"

namespace tofstream {

namespace {

using detail::BlobSum;

std::vector<float> profile_table(const Grid& blobs) {
  const BlobProfile profile(blobs.blob, blobs.voxel_mm.x);
  std::vector<float> table(BlobSum::samples);
  const double step = static_cast<double>(blobs.blob.radius_mm) / (BlobSum::samples - 1);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(profile(static_cast<double>(i) * step));
  return table;
}

void sample_cpu(const BlobSum& sum, const float* coefficients, const Grid& grid, float* voxels) {
  tbb::parallel_for(0, grid.size[1] * grid.size[2], [&](int row) {
    const int j = row % grid.size[1], k = row / grid.size[1];
    for (int i = 0; i < grid.size[0]; ++i) voxels[grid.index(i, j, k)] = sum.at(coefficients, grid.centre(i, j, k));
  });
}

}  // namespace

BlobToVoxels::BlobToVoxels(const Grid& blobs, const Grid& voxels, Backend backend)
    : blobs_(blobs), voxels_(voxels), backend_(backend) {
  if (!blobs.has_blobs())
    throw std::invalid_argument("blobs to voxels: the image is one of voxels already: set image.basis: blobs");
  validate_basis(blobs);
  validate(voxels);
  if (backend == Backend::cuda) require_cuda();
  table_ = Buffer<float>::from(profile_table(blobs)).to(memory_of(backend));
  if (backend == Backend::cuda) synchronize(nullptr);
}

Image BlobToVoxels::operator()(const Image& blobs, Stream stream) const {
  if (!(blobs.grid == blobs_) || blobs.voxels.size() != blobs_.voxels())
    throw std::invalid_argument("blobs to voxels: the image lies on another grid than was said");
  if (on_host(blobs.voxels.memory()) != (backend_ == Backend::cpu))
    throw std::invalid_argument("blobs to voxels: the image lies in other memory than was said");
  const BlobSum sum{{blobs_.lattice(0), blobs_.lattice(1)}, blobs_.blob.radius_mm, table_.data()};
  Image result{voxels_, Buffer<float>(memory_of(backend_), voxels_.voxels(), stream)};
  if (backend_ == Backend::cuda) {
    detail::sample_blobs_cuda(sum, blobs.voxels.data(), voxels_, result.voxels.data(), stream);
  } else {
    sample_cpu(sum, blobs.voxels.data(), voxels_, result.voxels.data());
  }
  return result;
}

Grid covering_voxels(const Grid& blobs, Vec3 voxel_mm) {
  int size[3];
  Vec3 centre;
  for (int axis = 0; axis < 3; ++axis) {
    const float edge = blobs.voxel_mm[axis], nodes = static_cast<float>(blobs.size[axis]);
    const float hair = 1e-3f;  // what rounding may add
    size[axis] = std::max(1, static_cast<int>(std::ceil((nodes - 0.5f) * edge / voxel_mm[axis] - hair)));
    centre.set(axis, blobs.origin_mm[axis] + 0.5f * (nodes - 1) * edge);
  }
  Grid grid = Grid::centred(size[0], size[1], size[2], voxel_mm);
  grid.origin_mm = grid.origin_mm + centre;
  return grid;
}

#ifndef TOFSTREAM_HAVE_CUDA
void detail::sample_blobs_cuda(const BlobSum&, const float*, const Grid&, float*, Stream) {
  refuse_cuda();
}
#endif

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
