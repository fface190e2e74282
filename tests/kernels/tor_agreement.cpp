// The fast TOR projectors against the double-precision reference: every SIMD instruction set and
// CUDA, every radial response, tubes narrow and wide, anisotropic voxels, lines of every sort.
#include <hwy/targets.h>

#include "kernels/project/tor/tor.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/list_mode.hpp"

using namespace tofstream;

namespace {

constexpr double tolerance = 1e-5;  // of the range

/// Runs a check under each SIMD instruction set that this build and machine have.
template <class Check>
void for_each_instruction_set(Check&& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    CAPTURE(std::string(hwy::TargetName(target)));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

/// Lines along axes, near diagonals, between voxels, grazing and missing the grid, ending inside it,
/// degenerate. No voxel lies exactly at the tube's radius or end, where rounding would decide.
std::vector<Lor> awkward_lines() {
  return {{{-200, 0, 0}, {200, 0, 0}, 3},
          {{0, 200, 0}, {0, -200, 0}, 3},
          {{0.5f, 0.25f, -200}, {0.5f, 0.25f, 200}, -7},
          {{-200, -200, -200}, {200.3f, 199.1f, 200.7f}, 0},
          {{200.7f, -200, 0.3f}, {-200, 200, 0}, 5},
          {{-200, 12.5f, 3}, {200, 12.5f, 3}, 0},
          {{-200, 13.9f, 20}, {200, 13.9f, 20.5f}, 0},
          {{-200, 120, 0}, {200, 130, 0}, 0},
          {{300, 300, 300}, {400, 300, 300}, 0},
          {{1, 2, 3}, {200, 30, -20}, 40},
          {{1, 2, 3}, {4.1f, 4.3f, 5.2f}, 1},
          {{5, 5, 5}, {5, 5, 5}, 0},
          {{-200, 0, 0}, {200, 0, 0}, 5000},
          {{-200, 0, 0}, {200, NAN, 0}, 0}};
}

struct Case {
  Grid grid;
  RadialResponse response;
  TofModel tof;
};

std::vector<Case> cases() {
  const Grid isotropic = Grid::centred(21, 18, 14, {4, 4, 4});
  const Grid anisotropic = Grid::centred(20, 26, 10, {2, 1, 4});
  const Grid off_centre{{7, 30, 5}, {3, 2, 6}, {10, -25, -8}};
  const TofModel none, wide{40.5f, 0}, narrow{7.1f, 12};
  std::vector<Case> result;
  for (const float width : {1.0f, 3.0f, 5.0f, 15.0f})
    for (const TofModel& tof : {none, wide, narrow}) {
      result.push_back({isotropic, RadialResponse::gaussian(1.72f * width, 2 * width), tof});
      result.push_back({anisotropic, RadialResponse::kaiser_bessel(8, width), tof});
    }
  result.push_back({anisotropic, RadialResponse::gaussian(2.5f, 3), narrow});
  result.push_back({off_centre, RadialResponse::gaussian(5, 6), wide});
  result.push_back({off_centre, RadialResponse::table({4, 3, 2, 0}, 8), none});
  result.push_back({Grid::centred(1, 1, 1, {4, 4, 4}), RadialResponse::gaussian(5, 6), none});
  return result;
}

/// Forward, back and EM step of `backend` against the reference on one case.
void check_case(const Case& c, Backend backend) {
  std::vector<Lor> lors = random_lines(c.grid, 60, 42);
  for (const Lor& lor : awkward_lines()) lors.push_back(lor);
  const EventBatch events = events_of(lors, c.tof);
  const EventBatch there = events.to(memory_of(backend));
  const Image image = noise_image(c.grid, 1), image_there = image.to(memory_of(backend));
  const auto fast = make_tor_projector(c.grid, {c.response}, backend);
  const auto reference = make_tor_reference(c.grid, {c.response});
  CHECK(fast->backend() == backend);

  Buffer<float> expected(Memory::host, events.count), found(memory_of(backend), events.count);
  reference->forward(events.view(), image.voxels.data(), expected.data());
  fast->forward(there.view(), image_there.voxels.data(), found.data());
  CHECK(largest_deviation(found.to_vector(), expected.span()) < tolerance);

  Image expected_back = Image::zeros(c.grid);
  Image found_back = Image::zeros(c.grid, memory_of(backend));
  reference->back(events.view(), expected.data(), expected_back.voxels.data());
  const Buffer<float> values = expected.to(memory_of(backend));
  fast->back(there.view(), values.data(), found_back.voxels.data());
  CHECK(largest_deviation(found_back.voxels.to_vector(), expected_back.voxels.span()) < tolerance);

  Image expected_em = Image::zeros(c.grid);
  Image found_em = Image::zeros(c.grid, memory_of(backend));
  const EmTally tally = reference->em_step(events.view(), image.voxels.data(), expected_em.voxels.data());
  const EmTally fast_tally = fast->em_step(there.view(), image_there.voxels.data(), found_em.voxels.data());
  CHECK(largest_deviation(found_em.voxels.to_vector(), expected_em.voxels.span()) < tolerance);
  CHECK(fast_tally.used == tally.used);
  CHECK(fast_tally.skipped == tally.skipped);
  CHECK(fast_tally.log_sum == doctest::Approx(tally.log_sum).epsilon(1e-5));
  CHECK(tally.used + tally.skipped == events.count);
}

/// <A x, y> and <x, A^T y> agree to 1e-5.
void check_adjoint(Backend backend) {
  const Grid grid = Grid::centred(40, 30, 20, {4, 4, 4});
  const EventBatch events = events_of(random_lines(grid, 2000, 3), {30, 0});
  const EventBatch there = events.to(memory_of(backend));
  const auto projector = make_tor_projector(grid, {RadialResponse::gaussian(5, 6)}, backend);
  const Image x = noise_image(grid, 4);
  Buffer<float> ax(memory_of(backend), events.count);
  projector->forward(there.view(), x.to(memory_of(backend)).voxels.data(), ax.data());
  std::vector<float> y;
  for (std::int64_t i = 0; i < events.count; ++i) y.push_back(static_cast<float>(1 + i % 7));
  Image aty = Image::zeros(grid, memory_of(backend));
  const Buffer<float> y_there = Buffer<float>::from(y).to(memory_of(backend));
  projector->back(there.view(), y_there.data(), aty.voxels.data());
  const auto ax_here = ax.to_vector(), aty_here = aty.voxels.to_vector();
  const double left = std::inner_product(ax_here.begin(), ax_here.end(), y.begin(), 0.0);
  const double right = std::inner_product(aty_here.begin(), aty_here.end(), x.voxels.span().begin(), 0.0);
  CHECK(left == doctest::Approx(right).epsilon(1e-5));
}

}  // namespace

TEST_CASE("the CPU's TOR projector agrees with the reference under every instruction set") {
  for_each_instruction_set([] {
    for (const Case& c : cases()) {
      CAPTURE(c.response.tube_radius_mm());
      CAPTURE(c.tof.sigma_mm);
      CAPTURE(c.grid.voxel_mm.z);
      check_case(c, Backend::cpu);
    }
  });
}

TEST_CASE("the CPU's TOR back projection is the adjoint of its forward projection") {
  for_each_instruction_set([] { check_adjoint(Backend::cpu); });
}

TEST_CASE("CUDA's TOR projector agrees with the reference and is its own adjoint") {
  if (!gpu_or_skip()) return;
  for (const Case& c : cases()) {
    CAPTURE(c.response.tube_radius_mm());
    CAPTURE(c.tof.sigma_mm);
    CAPTURE(c.grid.voxel_mm.z);
    check_case(c, Backend::cuda);
  }
  check_adjoint(Backend::cuda);
}
