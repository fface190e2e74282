// Blobs sampled at voxels: single blobs, uniform and linear densities, the ends of the image, CPU against CUDA.
#include "kernels/blob/blob_to_voxels.hpp"

#include <algorithm>
#include <cmath>

#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

struct Range {
  float low, high;
};
/// The density of equal coefficients of 1 in the middle of the lattices, at points all over a cell.
Range uniform_density(const Grid& blobs) {
  const float edge = blobs.voxel_mm.x, step = edge / 20;
  const Grid cell = Grid::centred(21, 21, 21, {step, step, step});
  const Image density = BlobToVoxels(blobs, cell, Backend::cpu)(Image::filled(blobs, 1));
  const auto [low, high] = std::ranges::minmax(density.voxels.span());
  return {low, high};
}

}  // namespace

TEST_CASE("equal coefficients are a uniform density, but for the ripple that the choice of blob leaves") {
  const Range clinical = uniform_density(blob_grid(9, 9, 9, 8.15f));
  CHECK(clinical.low > 1 - 1e-3f);
  CHECK(clinical.high < 1 + 1e-3f);
  const Range wide = uniform_density(blob_grid(9, 9, 9, 5, 10.4f));
  CHECK(wide.low > 1 - 3e-4f);
  CHECK(wide.high < 1 + 3e-4f);
  Grid narrow = blob_grid(9, 9, 9, 8);
  narrow.blob.radius_mm *= 0.8f;
  CHECK(uniform_density(narrow).low < 0.95f);
}

TEST_CASE("one blob of each lattice gives its profile about its node") {
  const Grid blobs = blob_grid(6, 7, 5, 4);
  const Grid voxels = Grid::centred(33, 37, 29, {0.9f, 0.8f, 1.1f});
  const BlobProfile profile(blobs.blob, 4);
  for (const int which : {0, 1}) {
    const Grid lattice = blobs.lattice(which);
    Image coefficients = Image::zeros(blobs);
    coefficients.voxels[which * lattice.voxels() + lattice.index(2, 3, 1)] = 3;
    const Image density = BlobToVoxels(blobs, voxels, Backend::cpu)(coefficients);
    const Vec3d node = lattice.centre(2, 3, 1).as<double>();
    double error = 0;
    for (int k = 0; k < voxels.size[2]; ++k)
      for (int j = 0; j < voxels.size[1]; ++j)
        for (int i = 0; i < voxels.size[0]; ++i) {
          const double expected = 3 * profile(norm(voxels.centre(i, j, k).as<double>() - node));
          error = std::max(error, std::abs(static_cast<double>(density.voxels[voxels.index(i, j, k)]) - expected));
        }
    CHECK(error < 2e-6 * 3 * profile(0));
  }
}

TEST_CASE("coefficients that are linear in space give a linear density") {
  const Grid blobs = blob_grid(12, 12, 12, 4, 10.4f);
  Image coefficients = Image::zeros(blobs);
  const auto linear = [](Vec3 p) { return 100 + p.x - 2 * p.y + 0.5f * p.z; };
  for (const int which : {0, 1}) {
    const Grid lattice = blobs.lattice(which);
    for (int k = 0; k < 12; ++k)
      for (int j = 0; j < 12; ++j)
        for (int i = 0; i < 12; ++i)
          coefficients.voxels[which * lattice.voxels() + lattice.index(i, j, k)] = linear(lattice.centre(i, j, k));
  }
  const Grid voxels = Grid::centred(9, 9, 9, {3, 3, 3});
  const Image density = BlobToVoxels(blobs, voxels, Backend::cpu)(coefficients);
  for (int k = 0; k < 9; ++k)
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 9; ++i)
        CHECK(density.voxels[voxels.index(i, j, k)] == approx(linear(voxels.centre(i, j, k))).epsilon(2e-3));
}

TEST_CASE("voxels far from all blobs are zero, and covering voxels hold all nodes and no more") {
  const Grid blobs = blob_grid(6, 7, 5, 4);
  Grid far = Grid::centred(3, 3, 3, {4, 4, 4});
  for (const float x : {1e6f, -1e6f, 1e30f, -1e30f}) {
    far.origin_mm.x = x;
    const Image density = BlobToVoxels(blobs, far, Backend::cpu)(Image::filled(blobs, 1));
    CHECK(std::ranges::count(density.voxels.span(), 0.0f) == 27);
  }
  Grid moved = blobs;
  moved.origin_mm = moved.origin_mm + Vec3{10, -20, 30};
  const Grid covering = covering_voxels(moved, {2, 3, 22});
  CHECK(covering.size[0] == 11);  // nodes span 5.5 x 4 mm
  CHECK(covering.size[1] == 9);   // 26 mm
  CHECK(covering.size[2] == 1);   // 18 mm
  CHECK(covering.centre(5, 4, 0) == Vec3{10, -20, 30});
}

TEST_CASE("sampling refuses voxels for blobs, blobs for voxels, another grid and other memory") {
  const Grid blobs = blob_grid(6, 7, 5, 4), voxels = Grid::centred(3, 3, 3, {4, 4, 4});
  CHECK_THROWS_AS(BlobToVoxels(voxels, voxels, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(BlobToVoxels(blobs, blobs, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(BlobToVoxels(blobs, voxels, Backend::cpu)(Image::zeros(voxels)), std::invalid_argument);
}

TEST_CASE("CUDA samples blobs as the CPU does") {
  if (!gpu_or_skip()) return;
  const Grid blobs = blob_grid(23, 17, 11, 5), voxels = Grid::centred(50, 40, 30, {3, 2, 2.5f});
  const Image coefficients = noise_image(blobs, 3);
  const Image expected = BlobToVoxels(blobs, voxels, Backend::cpu)(coefficients);
  const BlobToVoxels sample(blobs, voxels, Backend::cuda);
  const Image found = sample(coefficients.to(Memory::device));
  CHECK(error_of_range(found.voxels.to_vector(), expected.voxels.to_vector()) < 2e-6);
  CHECK_THROWS_AS(sample(coefficients), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
