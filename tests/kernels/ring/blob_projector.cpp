// The projector of blobs: against its double-precision reference on every instruction set and CUDA, against line
// integrals of the density and analytic chords, and as an operator.
#include "kernels/ring/blob/blob_projector.hpp"

#include <cmath>

#include "kernels/blob/blob_to_voxels.hpp"
#include "kernels/simulate/phantom.hpp"
#include "tests/kernels/blob_support.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// Lines through, beside, and parallel to the axes of the lattices; one that ends inside, one without direction.
std::vector<Lor> some_lines(const Grid& grid, bool cut) {
  std::vector<Lor> lors = random_lines(grid, 80, 21);
  for (const Lor& lor : {Lor{{-200, 0.3f, 0.2f}, {200, 0.3f, 0.2f}, 3}, Lor{{0.2f, 200, 1}, {0.2f, -200, 1}, -4},
                         Lor{{0.5f, 0.25f, -200}, {0.5f, 0.25f, 200}, 0}, Lor{{-200, 300, 0}, {200, 300, 0}, 0}})
    lors.push_back(lor);
  if (cut) {
    lors.push_back({{1, 2, 3}, {200, 30, -20}, 4});
    lors.push_back({{5, 5, 5}, {5, 5, 5}, 0});
  }
  return lors;
}

void check_against_reference(Backend backend, CudaPath path = CudaPath::automatic) {
  CAPTURE(static_cast<int>(path));
  Grid off_centre = blob_grid(7, 16, 5, 6, 10.4f);
  off_centre.origin_mm = {10, -40, -8};
  Grid wide = blob_grid(9, 8, 10, 4);
  wide.blob.radius_mm = 14;
  Grid steep = blob_grid(12, 10, 8, 5);
  steep.blob.alpha = 20;  // beyond the polynomial
  for (const Grid& grid : {blob_grid(17, 14, 9, 8.15f), off_centre, wide, steep, blob_grid(1, 1, 1, 8)})
    for (const TofModel& tof : {TofModel{}, TofModel{40.5f, 0}, TofModel{9, 12}}) {
      CAPTURE(grid.blob.radius_mm);
      CAPTURE(tof.sigma_mm);
      const EventBatch events = batch_of(some_lines(grid, path != CudaPath::tiled), tof);
      const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(events.count, 2);
      const auto fast = make_blob_projector(grid, {.cuda_path = path}, backend);
      if (path == CudaPath::tiled) CHECK(fast->plan(events.to(Memory::device).view()) != nullptr);
      CHECK(fast->grid() == grid);
      const Projections found = project(*fast, events, image, values);
      const Projections expected = project(*make_blob_reference(grid, {}), events, image, values);
      CHECK(error_of_range(found.forward, expected.forward) < 1e-5);
      CHECK(error_of_range(found.back, expected.back) < 1e-5);
      // The rounding of a tile's float coordinates shows where a line has next to no expectation.
      CHECK(error_of_range(found.em, expected.em) < (path == CudaPath::tiled ? 1e-4 : 1e-5));
      CHECK(found.tally.used == expected.tally.used);
      CHECK(found.tally.skipped == expected.tally.skipped);
      // One line of 84 meets only the support's last tenths of a millimetre, where a tile's floats give the weight to a
      // percent.
      CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(path == CudaPath::tiled ? 2e-4 : 1e-5));
    }
}

/// <A x, y> and <x, A^T y> agree to 1e-5.
void check_adjoint(Backend backend) {
  const Grid grid = blob_grid(30, 24, 12, 8.15f);
  const EventBatch events = batch_of(random_lines(grid, 2000, 3), {40.5f, 0});
  const auto x = random_numbers(grid.voxels(), 4), y = random_numbers(events.count, 5);
  const Projections found = project(*make_blob_projector(grid, {}, backend), events, x, y);
  CHECK(inner(found.forward, y) == approx(inner(x, found.back)).epsilon(1e-5));
}

}  // namespace

TEST_CASE("the CPU's blob projector agrees with the reference under every instruction set") {
  for_each_instruction_set([](const std::string&) { check_against_reference(Backend::cpu); });
}

TEST_CASE("the CPU's back projection of blobs is the adjoint of its forward projection") {
  check_adjoint(Backend::cpu);
}

TEST_CASE("CUDA's blob projector agrees with the reference on both paths and is its own adjoint") {
  if (!gpu_or_skip()) return;
  for (const CudaPath path : {CudaPath::automatic, CudaPath::direct, CudaPath::tiled})
    check_against_reference(Backend::cuda, path);
  check_adjoint(Backend::cuda);
}

TEST_CASE("CUDA's blob projector by tiles agrees with the CPU's where paths cross tiles, with additive terms") {
  if (!gpu_or_skip()) return;
  const Grid grid = blob_grid(75, 75, 26, 4);
  EventBatch events = batch_of(random_lines(grid, 20000, 12, 800), {40.5f, 0});
  events.additive = Buffer<float>::from(random_numbers(events.count, 6, 0, 0.1f));
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(events.count, 2);
  const auto gpu = make_blob_projector(grid, {.cuda_path = CudaPath::tiled}, Backend::cuda);
  CHECK(gpu->plan(events.to(Memory::device).view()) != nullptr);
  const Projections found = project(*gpu, events, image, values);
  const Projections expected = project(*make_blob_projector(grid, {}, Backend::cpu), events, image, values);
  CHECK(rms_of_range(found.em, expected.em) < 1e-5);  // from a few lines with next to no expectation
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-6));
}

TEST_CASE("a non-ToF projection of blobs is the line integral of their density") {
  const Grid grid = blob_grid(9, 8, 7, 6);
  const Image image = noise_image(grid, 5);
  // A row of points along each axis in turn, 0.02 mm apart; the line goes through them.
  for (int axis = 0; axis < 3; ++axis) {
    const float step = 0.02f;
    int size[3] = {1, 1, 1};
    size[axis] = 4001;
    Grid points = Grid::centred(size[0], size[1], size[2], {step, step, step});
    const Vec3 through{1.3f, -2.1f, 0.7f};
    points.origin_mm = points.origin_mm + through;
    const Image density = BlobToVoxels(grid, points, Backend::cpu)(image);
    double integral = 0;
    for (const float value : density.voxels.span()) integral += static_cast<double>(value * step);
    Vec3 end1 = through, end2 = through;
    end1.set(axis, -300);
    end2.set(axis, 300);
    const EventBatch line = batch_of({{end1, end2, 0}});
    float sum = 0;
    make_blob_projector(grid, {}, Backend::cpu)->forward(line.view(), image.voxels.data(), &sum);
    CHECK(static_cast<double>(sum) == approx(integral).epsilon(1e-5));
  }
}

TEST_CASE("blobs whose coefficients are a phantom's activity project to its chords") {
  Solid body(Shape::cylinder, {5, -3, 0}, {60, 45, 500}), insert(Shape::ellipsoid, {20, 10, 0}, {20, 20, 20});
  body.activity_Bq_mL = 1;
  insert.activity_Bq_mL = 4;
  const Phantom phantom("test", {body, insert});
  const Grid grid = blob_grid(40, 36, 40, 4);
  Image image = Image::zeros(grid);
  for (const int which : {0, 1}) {
    const Image lattice = phantom.activity_image(grid.lattice(which));
    std::ranges::copy(lattice.voxels.span(), image.voxels.data() + which * lattice.voxels.size());
  }
  std::vector<Lor> lors;
  std::vector<double> chords;
  Grid middle = Grid::centred(3, 3, 3, {4, 4, 4});  // that of the insert: every surface is crossed, none grazed
  middle.origin_mm = middle.origin_mm + Vec3{20, 10, 0};
  for (const Lor& lor : random_lines(middle, 200, 17)) {
    const Vec3 along = lor.end2 - lor.end1;
    if (std::abs(along.z) > 0.2f * norm(along)) continue;  // it would leave the lattices at their ends
    lors.push_back(lor);
    chords.push_back(phantom.activity_integral(lor.end1.as<double>(), lor.end2.as<double>()));
  }
  REQUIRE(lors.size() > 20);
  const EventBatch events = batch_of(lors);
  const auto projector = make_blob_projector(grid, {}, Backend::cpu);
  const auto found = forward_of(*projector, events, image.voxels.to_vector());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(static_cast<double>(found[i]) == approx(chords[i]).epsilon(0.02));
}

TEST_CASE("ToF projections of blobs summed over bins are the non-ToF projection") {
  const Grid grid = blob_grid(20, 20, 8, 8);
  const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f);
  const std::vector<Lor> lors = random_lines(grid, 30, 4);
  const auto projector = make_blob_projector(grid, {}, Backend::cpu);
  const auto whole = forward_of(*projector, batch_of(lors), image);
  std::vector<double> sum(lors.size(), 0.0);
  const TofModel tof{20, 10};
  for (int bin = -40; bin <= 40; ++bin) {
    std::vector<Lor> shifted = lors;
    for (Lor& lor : shifted) lor.tof_mm = static_cast<float>(bin) * tof.bin_width_mm;
    const auto part = forward_of(*projector, batch_of(shifted, tof), image);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(part[i]);
  }
  for (std::size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == approx(whole[i]).epsilon(1e-3));
}

TEST_CASE("a blob projector refuses voxels and blobs that are not valid") {
  const Grid voxels = Grid::centred(4, 4, 4, {4, 4, 4});
  CHECK_THROWS_WITH_AS(make_blob_projector(voxels, {}, Backend::cpu), doctest::Contains("image.basis"),
                       std::invalid_argument);
  CHECK_THROWS_AS(make_blob_reference(voxels, {}), std::invalid_argument);
  Grid wrong = blob_grid(4, 4, 4, 4);
  wrong.blob.alpha = NAN;
  CHECK_THROWS_AS(make_blob_projector(wrong, {}, Backend::cpu), std::invalid_argument);
  CHECK_THROWS_AS(make_blob_projector(blob_grid(4, 4, 4, 4), {.tof_cut_sigma = 0}, Backend::cpu),
                  std::invalid_argument);
}
// SPDX-License-Identifier: Apache-2.0
