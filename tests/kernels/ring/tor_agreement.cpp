// The fast TOR projectors against the double-precision reference: every SIMD instruction set and CUDA, every radial
// response, narrow and wide tubes, anisotropic voxels, lines of every kind.
#include "kernels/ring/tor/tor.hpp"
#include "tests/kernels/line_support.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

constexpr double tolerance = 1e-5;  // of the range

struct AgreementCase {
  Grid grid;
  RadialResponse response;
  TofModel tof;
  Normalise normalise = Normalise::none;
  bool tiles = true;  // whether tiles take it
};

std::vector<AgreementCase> agreement_cases() {
  const Grid isotropic = Grid::centred(21, 18, 14, {4, 4, 4});
  const Grid anisotropic = Grid::centred(20, 26, 10, {2, 1, 4});
  const Grid off_centre{{7, 30, 5}, {3, 2, 6}, {10, -25, -8}};
  const TofModel none, wide{40.5f, 0}, narrow{7.1f, 12}, half{20, 9}, bins{40.5f, 64};
  std::vector<AgreementCase> result;
  for (const float width : {1.0f, 3.0f, 4.0f, 4.8f, 5.0f, 15.0f})
    for (const TofModel& tof : {none, wide, narrow, half, bins}) {
      result.push_back({isotropic, RadialResponse::gaussian(1.72f * width, 2 * width), tof});
      result.push_back({anisotropic, RadialResponse::kaiser_bessel(8, width), tof});
    }
  result.push_back({anisotropic, RadialResponse::gaussian(2.5f, 3), narrow});
  result.push_back({off_centre, RadialResponse::gaussian(5, 6), wide});
  result.push_back({isotropic, RadialResponse::gaussian(5, 6), {15, 90}});
  result.push_back({isotropic, RadialResponse::gaussian(5, 6), {2, 1}});
  result.push_back({off_centre, RadialResponse::table({4, 3, 2, 0}, 8), none});
  result.push_back({Grid::centred(2, 1, 1, {4, 4, 4}), RadialResponse::gaussian(5, 6), none});
  for (const TofModel& tof : {none, wide, narrow, bins}) {
    const bool windows = tof.sigma_mm == 0 || tof.sigma_mm > 20;  // tiles walk sections in windows
    for (const float width : {1.42f, 2.0f, 3.0f, 4.4f})
      result.push_back({isotropic, RadialResponse::gaussian(1.72f * width, 2 * width), tof, Normalise::slice, windows});
    result.push_back({isotropic, RadialResponse::gaussian(8.6f, 10), tof, Normalise::slice, false});
    result.push_back({anisotropic, RadialResponse::kaiser_bessel(8, 3), tof, Normalise::slice, false});
    result.push_back({off_centre, RadialResponse::table({4, 3, 2, 0}, 8), tof, Normalise::slice, false});
  }
  return result;
}

/// A case's input. Lines that end inside the image take the direct path beside the tiles, so these are without them:
/// see planned_ends_inside.cpp.
struct Input {
  EventBatch events;
  std::vector<float> image, values;
  explicit Input(const AgreementCase& c, CudaPath path = CudaPath::automatic) {
    std::vector<Lor> lors = random_lines(c.grid, 60, 42);
    for (const Lor& lor : awkward_lines())
      if (path != CudaPath::tiled || std::abs(lor.end1.x) > 10) lors.push_back(lor);
    events = batch_of(lors, c.tof);
    image = random_numbers(c.grid.voxels(), 1, 0.5f, 1.5f);
    values = random_numbers(events.count, 2);
  }
};

Projections reference_of(const AgreementCase& c, const Input& input) {
  return project(*make_tor_reference(c.grid, {.response = c.response, .normalise = c.normalise}), input.events,
                 input.image, input.values);
}

/// Forward, back and EM step of `backend` against the reference on one case.
void check_case(const AgreementCase& c, const Input& input, const Projections& expected, Backend backend,
                CudaPath path = CudaPath::automatic) {
  CAPTURE(static_cast<int>(path));
  CAPTURE(c.response.tube_radius_mm());
  CAPTURE(c.tof.sigma_mm);
  CAPTURE(c.grid.voxel_mm.z);
  CAPTURE(static_cast<int>(c.normalise));
  const EventBatch& events = input.events;
  const auto fast =
      make_tor_projector(c.grid, {.response = c.response, .cuda_path = path, .normalise = c.normalise}, backend);
  if (path == CudaPath::tiled) CHECK((fast->plan(events.to(Memory::device).view()) != nullptr) == c.tiles);
  CHECK(fast->backend() == backend);
  const Projections found = project(*fast, events, input.image, input.values);
  CHECK(error_of_range(found.forward, expected.forward) < tolerance);
  // Visits have float coordinates, good to 4e-6 voxels; a tube half a voxel wide is up to ten times as sensitive to
  // errors. If a bin is wider than half a sigma, tiles take its response in pieces (tof_profile.hpp).
  const bool pieces = c.tof.bin_width_mm > 0.5f * c.tof.sigma_mm;
  const double of_path = path != CudaPath::tiled ? tolerance : (pieces ? 1.5e-4 : 5e-5);
  // A line that meets the image only with the last millimetre of a ToF bin's support has a weight that depends on the
  // rounding of its position, and the largest ratio of all lines.
  const double of_ratio = c.tof.sigma_mm > 0 ? std::max(of_path, 5e-5) : of_path;
  CHECK(error_of_range(found.back, expected.back) < of_path);
  CHECK(error_of_range(found.em, expected.em) < of_ratio);
  CHECK(found.tally.used == expected.tally.used);
  CHECK(found.tally.skipped == expected.tally.skipped);
  CHECK(found.tally.used + found.tally.skipped == events.count);
  CHECK(found.tally.log_sum == approx(expected.tally.log_sum).epsilon(1e-5));
}

/// <A x, y> and <x, A^T y> agree to 1e-5.
void check_adjoint(Backend backend, Normalise normalise) {
  const Grid grid = Grid::centred(40, 30, 20, {4, 4, 4});
  const EventBatch events = batch_of(random_lines(grid, 2000, 3), {30, 0});
  const auto x = random_numbers(grid.voxels(), 4), y = random_numbers(events.count, 5);
  const auto projector =
      make_tor_projector(grid, {.response = RadialResponse::gaussian(5, 6), .normalise = normalise}, backend);
  const Projections found = project(*projector, events, x, y);
  CHECK(inner(found.forward, y) == approx(inner(x, found.back)).epsilon(1e-5));
}

}  // namespace

TEST_CASE("the CPU's TOR projector agrees with the reference under every instruction set") {
  const std::vector<AgreementCase> cases = agreement_cases();
  std::vector<Input> inputs;
  std::vector<Projections> expected;  // once: the reference takes most of the time
  for (const AgreementCase& c : cases) {
    inputs.emplace_back(c);
    expected.push_back(reference_of(c, inputs.back()));
  }
  for_each_instruction_set([&](const std::string&) {
    for (std::size_t i = 0; i < cases.size(); ++i) check_case(cases[i], inputs[i], expected[i], Backend::cpu);
  });
}

TEST_CASE("the CPU's TOR back projection is the adjoint of its forward projection") {
  for_each_instruction_set([](const std::string&) {
    for (const auto normalise : {Normalise::none, Normalise::slice}) check_adjoint(Backend::cpu, normalise);
  });
}

TEST_CASE("CUDA's TOR projector by tiles agrees with the CPU's where paths cross tiles, with any Gaussian") {
  if (!gpu_or_skip()) return;
  const Grid grid = Grid::centred(100, 90, 80, {2, 2, 2});
  for (const float radius : {2.0f, 3.0f, 9.0f, 21.0f})
    for (const float fwhm : {0.86f * radius, 0.2f * radius})  // the second vanishes within the tube
      for (const float sigma : {0.0f, 5.0f, 30.0f}) {
        CAPTURE(radius);
        CAPTURE(fwhm);
        CAPTURE(sigma);
        const EventBatch events = batch_of(random_lines(grid, 6000, 12), {sigma, 0});
        const auto image = random_numbers(grid.voxels(), 1, 0.5f, 1.5f), values = random_numbers(events.count, 2);
        const RadialResponse response = RadialResponse::gaussian(fwhm, radius);
        const auto cpu = make_tor_projector(grid, {response}, Backend::cpu);
        const auto gpu = make_tor_projector(grid, {.response = response, .cuda_path = CudaPath::tiled}, Backend::cuda);
        CHECK(gpu->plan(events.to(Memory::device).view()) != nullptr);
        const Projections expected = project(*cpu, events, image, values), found = project(*gpu, events, image, values);
        // RMS, since rounding decides a few of so many voxels at the rims of so many tubes. Lines that meet the image
        // only where a steep response has almost vanished determine the range, and rounding of their distance its
        // error.
        CHECK(rms_of_range(found.em, expected.em) < (fwhm < 0.5f * radius ? 1e-3 : 5e-6));
        CHECK(found.tally.used == expected.tally.used);
      }
}

TEST_CASE("CUDA's TOR projector agrees with the reference and is its own adjoint") {
  if (!gpu_or_skip()) return;
  for (const auto path : {CudaPath::automatic, CudaPath::direct, CudaPath::tiled})
    for (const AgreementCase& c : agreement_cases()) {
      const Input input(c, path);
      check_case(c, input, reference_of(c, input), Backend::cuda, path);
    }
  for (const auto normalise : {Normalise::none, Normalise::slice}) check_adjoint(Backend::cuda, normalise);
}
// SPDX-License-Identifier: Apache-2.0
