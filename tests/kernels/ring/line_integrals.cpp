// Line integrals of one image, by each backend's method, against Joseph's projector.
#include "kernels/ring/joseph/line_integrals.hpp"

#include "kernels/ring/joseph/joseph.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

// Images one voxel thick along each axis, of a single voxel, and with more voxels than are kept with their neighbours.
std::vector<Grid> grids() {
  return {Grid::centred(40, 31, 23, {4, 3, 5}), Grid::centred(1, 30, 20, {4, 4, 4}),
          Grid::centred(30, 1, 20, {4, 4, 4}),  Grid::centred(30, 20, 1, {4, 4, 4}),
          Grid::centred(1, 1, 1, {50, 50, 50}), Grid::centred(220, 210, 190, {1, 1, 1})};
}

// A patient in air: zero outside a box that reaches only one end of the image.
Image patient(const Grid& grid) {
  Image image = noise_image(grid, 3);
  const int* size = grid.size;
  std::int64_t v = 0;
  for (int z = 0; z < size[2]; ++z)
    for (int y = 0; y < size[1]; ++y)
      for (int x = 0; x < size[0]; ++x, ++v)
        if (3 * x < size[0] || 3 * x > 2 * size[0] || 4 * y < size[1] || 2 * z > size[2]) image.voxels[v] = 0;
  return image;
}

std::vector<Image> images() {
  std::vector<Image> result;
  for (const Grid& grid : grids()) result.push_back(noise_image(grid, 3));
  result.push_back(patient(grids()[0]));
  result.push_back(patient(Grid::centred(90, 80, 40, {2, 2, 4})));  // more planes than one block takes
  return result;
}

void check_integrals(Backend backend, const std::vector<Image>& images) {
  for (const Image& image : images) {
    const Grid& grid = image.grid;
    CAPTURE(grid.size[0]);
    std::vector<Lor> lines = random_lines(grid, 3000, 5);
    for (const Lor& line : awkward_lines()) lines.push_back(line);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i].tof_mm = static_cast<float>(i % 100);
    EventBatch batch = batch_of(lines, {.sigma_mm = 20, .bin_width_mm = 5}).to(memory_of(backend));
    const auto integrals = make_line_integrals(image, backend);
    CHECK(integrals->backend() == backend);
    Buffer<float> along(memory_of(backend), batch.count);
    integrals->along(batch.view(), along.data(), nullptr);
    const auto projector = make_joseph_projector(grid, {}, backend);
    const Buffer<float> there = image.voxels.to(memory_of(backend));
    Buffer<float> projected(memory_of(backend), batch.count);
    EventView without_tof = batch.view();
    without_tof.tof_mm = without_tof.tof_width_mm = nullptr;
    projector->forward(without_tof, there.data(), projected.data(), nullptr);
    CHECK(along.to_vector() == projected.to_vector());
    double sum = 0;
    for (const float value : along.to_vector()) sum += static_cast<double>(value);
    CHECK(sum > 0);
  }
}

void check_zero(Backend backend) {
  const Grid grid = grids()[0];
  const EventBatch batch = batch_of(random_lines(grid, 300, 5), {}).to(memory_of(backend));
  Buffer<float> along(memory_of(backend), batch.count);
  make_line_integrals(Image::zeros(grid), backend)->along(batch.view(), along.data(), nullptr);
  for (const float value : along.to_vector()) CHECK(value == 0);
}

}  // namespace

TEST_CASE("line integrals on the CPU are Joseph's projections, whatever the events' ToF") {
  check_integrals(Backend::cpu, images());
}

TEST_CASE("line integrals on CUDA are Joseph's projections bit for bit, whatever the events' ToF") {
  if (gpu_or_skip()) check_integrals(Backend::cuda, images());
}

TEST_CASE("line integrals of an image that is zero are 0") {
  check_zero(Backend::cpu);
}

TEST_CASE("line integrals on CUDA of an image that is zero are 0") {
  if (gpu_or_skip()) check_zero(Backend::cuda);
}

TEST_CASE("line integrals of an image without voxels are refused") {
  Image none;
  CHECK_THROWS_AS(make_line_integrals(none, Backend::cpu), std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
