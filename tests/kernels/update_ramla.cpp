// RAMLA's update: closed forms, voxels that the scanner does not see, and overflow; on a GPU too.
#include <limits>

#include "kernels/em/em_update.hpp"
#include "kernels/em/ramla_update.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;

namespace {

Image ramla_image(const std::vector<float>& values) {
  return {Grid::centred(static_cast<int>(values.size()), 1, 1, {1, 1, 1}), Buffer<float>::from(values)};
}

void check_ramla(Memory memory) {
  const Image s = ramla_image({4, 2, 1, 0.001f}).to(memory), inverse = inverse_sensitivity(s);
  const Image back = ramla_image({8, 2, 3, 5}).to(memory);
  CHECK(largest_sensitivity(s) == 4);
  // l = 1 / 4: x + l x (back - s); the last voxel is not seen.
  Image x = ramla_image({1, 3, 2, 7}).to(memory);
  CHECK(ramla_update(x, {s, inverse, back, 4}, 1) == 0);
  CHECK(x.voxels.to_vector() == std::vector<float>{2, 3, 3, 0});
  // Half of the time: s is (2, 1, 0.5), and l = 0.5 / 2.
  Image half = ramla_image({1, 3, 2, 7}).to(memory);
  CHECK(ramla_update(half, {s, inverse, back, 4, 0.5}, 0.5) == 0);
  CHECK(half.voxels.to_vector() == std::vector<float>{2.5f, 3.75f, 3.25f, 0});
  // The farthest update that leaves nothing negative: nothing was seen where s is largest.
  const Image nothing = ramla_image({0, 0, 0, 0}).to(memory);
  CHECK(ramla_update(half, {s, inverse, nothing, 4}, 1) == 0);
  CHECK(half.voxels.to_vector() == std::vector<float>{0, 1.875f, 2.4375f, 0});
  Image wild = ramla_image({1e30f, 1, 1, 1}).to(memory);
  const Image wild_back = ramla_image({1e30f, std::numeric_limits<float>::infinity(), 1, 1}).to(memory);
  CHECK(ramla_update(wild, {s, inverse, wild_back, 4}, 1) == 2);
  CHECK(wild.voxels.to_vector() == std::vector<float>{0, 0, 1, 0});
}

}  // namespace

TEST_CASE("RAMLA's update is relaxation / max s times x (back - s), and what nothing sees is 0") {
  check_ramla(Memory::host);
}

TEST_CASE("RAMLA's update on CUDA is the CPU's") {
  if (!gpu_or_skip()) return;
  check_ramla(Memory::device);
}
// SPDX-License-Identifier: Apache-2.0
