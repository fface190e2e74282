// Images so large that the byte offset of their last voxels needs more than 32 bits: lines near the last voxel weigh
// the same voxels as on a small grid that is the large one's last corner. The host's image is memory that is touched
// nowhere else; the GPU's must fit.
#include <sys/mman.h>

#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

using MakeLarge = std::unique_ptr<ListModeProjector> (*)(const Grid&, Backend, CudaPath);

std::unique_ptr<ListModeProjector> large_joseph(const Grid& grid, Backend backend, CudaPath path) {
  return make_joseph_projector(grid, {.cuda_path = path}, backend);
}
std::unique_ptr<ListModeProjector> large_tor(const Grid& grid, Backend backend, CudaPath path) {
  return make_tor_projector(grid, {.response = RadialResponse::gaussian(1.3f, 1.5f), .cuda_path = path}, backend);
}

/// Voxels of 1 mm.
Grid large(int nx, int ny, int nz) {
  return Grid::centred(nx, ny, nz, {1, 1, 1});
}

/// The last `n` voxels along each axis.
Grid last_corner(const Grid& grid, int n) {
  return {{n, n, n}, grid.voxel_mm, grid.centre(grid.size[0] - n, grid.size[1] - n, grid.size[2] - n)};
}

constexpr int corner = 40;

/// Lines across the whole grid whose ToF response lies in its last corner.
EventBatch lines_at_the_end(const Grid& grid, int count) {
  return batch_of(random_lines(last_corner(grid, 10), count, 3, 8000), {1.5f, 0.5f});
}

/// The rows of the corner, by their places in the large image: visit(voxel in the large one, voxel in the corner).
template <class Visit>
void for_each_row(const Grid& grid, Visit&& visit) {
  for (int k = 0; k < corner; ++k)
    for (int j = 0; j < corner; ++j)
      visit(grid.index(grid.size[0] - corner, grid.size[1] - corner + j, grid.size[2] - corner + k),
            (std::int64_t{k} * corner + j) * corner);
}

void put_corner(const Grid& grid, const std::vector<float>& values, Buffer<float>& image) {
  for_each_row(grid, [&](std::int64_t voxel, std::int64_t first) {
    detail::copy(image.data() + voxel, image.memory(), values.data() + first, Memory::host, corner * sizeof(float),
                 nullptr);
  });
  synchronize(nullptr);
}

std::vector<float> corner_of(const Grid& grid, const Buffer<float>& image) {
  std::vector<float> values(std::size_t{corner} * corner * corner);
  for_each_row(grid, [&](std::int64_t voxel, std::int64_t first) {
    detail::copy(values.data() + first, Memory::host, image.data() + voxel, image.memory(), corner * sizeof(float),
                 nullptr);
  });
  synchronize(nullptr);
  return values;
}

/// `image` and `sums` are zero.
void check_at_the_end(MakeLarge make, const Grid& grid, Backend backend, CudaPath path, Buffer<float>& image,
                      Buffer<float>& sums) {
  const Grid end = last_corner(grid, corner);
  const EventBatch events = lines_at_the_end(grid, 300);
  const std::vector<float> values = random_numbers(end.voxels(), 1, 0.5f, 1.5f);
  const Projections expected =
      project(*make(end, Backend::cpu, CudaPath::automatic), events, values, std::vector<float>(300, 1.0f));

  put_corner(grid, values, image);
  const auto projector = make(grid, backend, path);
  const Memory memory = memory_of(backend);
  const EventBatch there = events.to(memory);
  Buffer<float> forward(memory, events.count);
  projector->forward(there.view(), image.data(), forward.data());
  // Rounding decides about voxels at the border of a tube; a wrong place would be an error of some tenths.
  CHECK(rms_of_range(forward.to_vector(), expected.forward) < 1e-4);
  CHECK(projector->em_step(there.view(), image.data(), sums.data()).used == expected.tally.used);
  CHECK(rms_of_range(corner_of(grid, sums), expected.em) < 3e-5);
}

/// Zeros that take memory only where they are written.
Buffer<float> untouched(std::int64_t size) {
  const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(float);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(data != MAP_FAILED);
  return Buffer<float>::adopt(static_cast<float*>(data), size,
                              std::shared_ptr<const void>(data, [bytes](void* mapped) { ::munmap(mapped, bytes); }));
}

}  // namespace

TEST_CASE("Joseph on the CPU reaches the last voxel of an image of 2.1e9 voxels, as many as it takes") {
  const Grid grid = large(4096, 4096, 127);
  auto image = untouched(grid.voxels()), sums = untouched(grid.voxels());
  check_at_the_end(large_joseph, grid, Backend::cpu, CudaPath::automatic, image, sums);
}

TEST_CASE("projectors in CUDA reach the last voxel of an image of 1024^3, by tiles and without") {
  if (!gpu_or_skip()) return;
  const Grid grid = large(1024, 1024, 1024);
  constexpr std::size_t needed = std::size_t{12} << 30;
  if (free_device_bytes() < needed) return skip_test("CUDA device with 12 GiB of free memory", "TOFSTREAM_REQUIRE_GPU");
  for (const MakeLarge make : {large_joseph, large_tor})
    for (const CudaPath path : {CudaPath::direct, CudaPath::tiled}) {
      CAPTURE(static_cast<int>(path));
      auto image = Buffer<float>::zeros(Memory::device, grid.voxels());
      auto sums = Buffer<float>::zeros(Memory::device, grid.voxels());
      check_at_the_end(make, grid, Backend::cuda, path, image, sums);
    }
}
// SPDX-License-Identifier: Apache-2.0
