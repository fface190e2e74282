// Line integrals of one image, by each backend's own way, against Joseph's projector.
#include "kernels/ring/joseph/line_integrals.hpp"

#include "kernels/ring/joseph/joseph.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/kernels/projector_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

// Of one voxel along each axis, of none that a line can pass unseen, and of more voxels than are kept with neighbours.
std::vector<Grid> grids() {
  return {Grid::centred(40, 31, 23, {4, 3, 5}), Grid::centred(1, 30, 20, {4, 4, 4}),
          Grid::centred(30, 1, 20, {4, 4, 4}),  Grid::centred(30, 20, 1, {4, 4, 4}),
          Grid::centred(1, 1, 1, {50, 50, 50}), Grid::centred(220, 210, 190, {1, 1, 1})};
}

void check_integrals(Backend backend) {
  for (const Grid& grid : grids()) {
    CAPTURE(grid.size[0]);
    const Image image = noise_image(grid, 3);
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

}  // namespace

TEST_CASE("line integrals on the CPU are Joseph's projections, whatever the events' ToF") {
  check_integrals(Backend::cpu);
}

TEST_CASE("line integrals on CUDA are Joseph's projections bit for bit, whatever the events' ToF") {
  if (gpu_or_skip()) check_integrals(Backend::cuda);
}

TEST_CASE("line integrals of an image without voxels are refused") {
  Image none;
  CHECK_THROWS_AS(make_line_integrals(none, Backend::cpu), std::invalid_argument);
}
