// Operators in the C interface: the same bits as the projectors behind them.
#include "tests/c/operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "gadgets/step/projector_kinds.hpp"
#include "kernels/ring/joseph/joseph.hpp"
#include "kernels/spect/spect.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("an operator of views is the projector's bits, with its adjoint, its EM step and its sensitivity") {
  const Op op = spect_operator();
  std::int64_t image_shape[3], data_shape[4];
  std::int32_t axes = 0;
  tof_backend backend = TOF_AUTO;
  REQUIRE(tof_operator_shape(op.get(), image_shape, data_shape, &axes, &backend) == TOF_OK);
  CHECK(image_shape[0] == 8);
  CHECK(image_shape[2] == 12);
  CHECK(data_shape[0] == 9);
  CHECK(data_shape[1] == 9);
  CHECK(data_shape[2] == 14);
  CHECK(axes == 3);
  CHECK(backend == TOF_CPU);
  const auto x = random_numbers(small_voxels, 1), y = random_numbers(turn_pixels, 2);
  std::vector<float> ax(turn_pixels, -1), aty(small_voxels, -1), step(small_voxels, -1), sensitivity(small_voxels, -1);
  REQUIRE(tof_forward(op.get(), x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(op.get(), y.data(), aty.data(), nullptr) == TOF_OK);
  CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));

  const CameraTurn turn;
  auto set = std::make_shared<ViewSet>();
  set->size[0] = 14, set->size[1] = 9;
  set->pixel_mm = {7, 8, 0};
  std::vector<ViewRecord> records;
  std::vector<std::int32_t> index;
  for (int v = 0; v < 9; ++v) {
    set->places.push_back(
        {.angle_deg = 40.0F * static_cast<float>(v), .radius_mm = 120 + static_cast<float>(v), .duration_s = 10});
    records.push_back({.view = v});
    index.push_back(v);
  }
  Grid grid{{12, 10, 8}, {8, 9, 10}, {-44, -40.5F, -35}};
  const auto projector = make_rotation_projector(
      grid, *set,
      {.psf = GaussianPsfModel{.slope = 0.02F, .sigma0_mm = 2}, .form = PsfForm::separable, .counts_per_decay = 1},
      Backend::cpu);
  Views views;
  views.views = 9, views.count = turn_pixels, views.set = set.get(), views.records = records.data(),
  views.index = index.data();
  std::vector<float> direct(turn_pixels);
  projector->forward(views, x.data(), direct.data());
  CHECK(std::memcmp(direct.data(), ax.data(), ax.size() * sizeof(float)) == 0);

  tof_tally tally{.size = sizeof(tof_tally), .rejected = 7};
  REQUIRE(tof_em_step(op.get(), x.data(), ax.data(), nullptr, nullptr, step.data(), &tally, nullptr) == TOF_OK);
  REQUIRE(tof_sensitivity(op.get(), nullptr, sensitivity.data(), nullptr) == TOF_OK);
  CHECK(tally.rejected == -1);
  for (std::size_t k = 0; k < small_voxels; ++k)  // the image explains its own projections
    CHECK(step[k] == approx(sensitivity[k]).epsilon(1e-4));
}

TEST_CASE(
    "an operator of lines with time of flight has its adjoint, and its EM step is that of both; a plan keeps bits") {
  const Lines lines;
  for (const char* projector : {"joseph_projector", "tor_projector"}) {
    CAPTURE(projector);
    const char* parameters = std::string_view(projector) == "tor_projector" ? "{tube_width_voxels: 3, fwhm_mm: 8}" : "";
    tof_operator* made = nullptr;
    REQUIRE_MESSAGE(
        tof_operator_of_events(projector, parameters, &small_grid, &lines.events, nullptr, 0, TOF_CPU, &made) == TOF_OK,
        tof_error());
    const Op op(made);
    const auto x = random_numbers(small_voxels, 1), y = random_numbers(500, 2);
    std::vector<float> ax(500), aty(small_voxels), planned(500), ratio(500), back(small_voxels), step(small_voxels);
    REQUIRE(tof_forward(op.get(), x.data(), ax.data(), nullptr) == TOF_OK);
    REQUIRE(tof_adjoint(op.get(), y.data(), aty.data(), nullptr) == TOF_OK);
    CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));
    for (std::size_t i = 0; i < 500; ++i) ratio[i] = 1 / (ax[i] + 0.5F);
    const std::vector<float> background(500, 0.5F);
    REQUIRE(tof_adjoint(op.get(), ratio.data(), back.data(), nullptr) == TOF_OK);
    tof_tally tally{.size = sizeof(tof_tally), .rejected = 7};
    REQUIRE(tof_em_step(op.get(), x.data(), nullptr, nullptr, background.data(), step.data(), &tally, nullptr) ==
            TOF_OK);
    CHECK(tally.rejected == 0);
    for (std::size_t k = 0; k < small_voxels; ++k) CHECK(step[k] == approx(back[k]).epsilon(1e-4));
    REQUIRE(tof_plan(op.get(), nullptr) == TOF_OK);
    REQUIRE(tof_forward(op.get(), x.data(), planned.data(), nullptr) == TOF_OK);
    CHECK(planned == ax);
  }
}

TEST_CASE("the EM update in C is osem_update's: of a whole, and of a part that sees less") {
  const Op op = spect_operator();
  const auto random = random_numbers(2 * small_voxels, 4);
  const std::vector<float> step(random.begin(), random.begin() + small_voxels);
  std::vector<float> image(random.begin() + small_voxels, random.end()), s(small_voxels, 2), whole(small_voxels, 4);
  s[3] = 0;                // that the whole does not see either
  whole[3] = 0, s[7] = 0;  // that only this part does not see
  const std::vector<float> before = image;
  const auto update = [&](const float* of_whole) {
    return tof_em_update(op.get(), step.data(), s.data(), of_whole, image.data(), nullptr);
  };
  REQUIRE_MESSAGE(update(nullptr) == TOF_OK, tof_error());
  for (std::size_t v = 0; v < image.size(); ++v) CHECK(image[v] == (s[v] > 0 ? before[v] * 0.5F * step[v] : 0));
  image = before;
  REQUIRE_MESSAGE(update(whole.data()) == TOF_OK, tof_error());
  CHECK(image[3] == 0);
  CHECK(image[7] == before[7]);
  CHECK(image[8] == before[8] * 0.5F * step[8]);

  const auto refused = [&](tof_status status, const char* words) {
    CHECK(status == TOF_INVALID);
    CHECK_MESSAGE(std::string(tof_error()).find(words) != std::string::npos, tof_error());
  };
  refused(tof_em_update(op.get(), nullptr, s.data(), nullptr, image.data(), nullptr), "step is null");
  refused(tof_em_update(nullptr, step.data(), s.data(), nullptr, image.data(), nullptr), "op");
  s[5] = std::numeric_limits<float>::quiet_NaN();
  refused(update(nullptr), "not finite");
  s.assign(s.size(), 0);
  refused(update(nullptr), "sensitivity");
}

TEST_CASE("a reference takes and gives double, by the definition; others refuse it") {
  Lines lines;
  Grid grid{{12, 10, 8}, {8, 9, 10}, {-44, -40.5F, -35}};
  const auto reference = make_joseph_reference(grid, {});
  EventView view{.count = lines.events.count};
  for (std::size_t end = 0; end < 6; ++end) view.ends[end] = lines.ends[end].data();
  view.tof_mm = lines.tof_mm.data();
  view.tof = {.sigma_mm = lines.events.tof_sigma_mm, .bin_width_mm = lines.events.tof_bin_mm};
  const auto count = static_cast<std::size_t>(view.count);
  std::vector<double> x(small_voxels), y(count), back(small_voxels), forward(count);
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = 1 + 1e-9 * static_cast<double>(v);  // floats would all be 1
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1 - 1e-9 * static_cast<double>(i);

  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_events("joseph_projector", nullptr, &small_grid, &lines.events, nullptr, 0,
                                         TOF_REFERENCE, &made) == TOF_OK,
                  tof_error());
  const Op exact(made);
  tof_backend backend = TOF_CPU;
  REQUIRE(tof_operator_shape(made, nullptr, nullptr, nullptr, &backend) == TOF_OK);
  CHECK(backend == TOF_REFERENCE);
  REQUIRE(tof_forward_double(made, x.data(), forward.data()) == TOF_OK);
  REQUIRE(tof_adjoint_double(made, y.data(), back.data()) == TOF_OK);
  CHECK(forward == reference->forward(view, x));
  CHECK(back == reference->back(view, y));
  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(made, 1, 2, &part) == TOF_OK);
  const Op second(part);
  std::vector<double> half(count / 2);
  REQUIRE(tof_forward_double(part, x.data(), half.data()) == TOF_OK);
  CHECK(half == std::vector<double>(forward.begin() + static_cast<std::ptrdiff_t>(count / 2), forward.end()));

  // In single precision it is the reference too.
  const std::vector<float> image = random_numbers(small_voxels, 3);
  std::vector<float> found(count), expected(count);
  REQUIRE(tof_forward(made, image.data(), found.data(), nullptr) == TOF_OK);
  reference->forward(view, image.data(), expected.data());
  CHECK(found == expected);

  CHECK(tof_forward_double(made, x.data(), nullptr) == TOF_INVALID);
  CHECK(tof_adjoint_double(made, x.data(), x.data()) == TOF_INVALID);
  const Op fast = spect_operator();
  std::vector<double> views(turn_pixels);
  CHECK(tof_forward_double(fast.get(), x.data(), views.data()) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "op works in single precision: make it with TOF_REFERENCE for double");
}

TEST_CASE("without tof an operator takes its events as lines, and a sinogram has no bins") {
  const Lines lines;
  tof_events flat = lines.events;
  flat.tof_mm = nullptr;
  tof_operator *without = nullptr, *of_lines = nullptr, *none = nullptr;
  REQUIRE(tof_operator_of_events("joseph_projector", "tof: false", &small_grid, &lines.events, nullptr, 0, TOF_CPU,
                                 &without) == TOF_OK);
  const Op op(without);
  REQUIRE(tof_operator_of_events("joseph_projector", "", &small_grid, &flat, nullptr, 0, TOF_CPU, &of_lines) == TOF_OK);
  const Op expected(of_lines);
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> ax(500), same(500);
  REQUIRE(tof_forward(without, x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(of_lines, x.data(), same.data(), nullptr) == TOF_OK);
  CHECK(ax == same);
  CHECK(tof_operator_of_lines("joseph_projector", "tof: false", &small_grid, &flat, 3, TOF_CPU, &none) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "bins is 3, and tof is false: give 0 bins for lines without ToF");
}

TEST_CASE("a caller of an earlier header, whose structs are shorter, is served") {
  Lines lines;
  tof_events shorter = lines.events;
  shorter.size = offsetof(tof_events, multiplicative);
  shorter.multiplicative = reinterpret_cast<const float*>(8);  // not of that version: never looked at
  tof_operator* made = nullptr;
  CHECK_MESSAGE(
      tof_operator_of_events("joseph_projector", "", &small_grid, &shorter, nullptr, 0, TOF_CPU, &made) == TOF_OK,
      tof_error());
  const Op op(made);
}

TEST_CASE(
    "without a scanner every list-mode projector is made or refused in one line, whatever it would learn of one") {
  const Lines lines;
  for (const ProjectorKind& kind : table_of<ProjectorKind>())
    for (const bool has_tof : {true, false}) {
      CAPTURE(kind.name);
      tof_events events = lines.events;
      if (!has_tof) events.tof_mm = nullptr;
      tof_operator* made = nullptr;
      const tof_status status =
          tof_operator_of_events(kind.name.c_str(), nullptr, &small_grid, &events, nullptr, 0, TOF_CPU, &made);
      const Op op(made);
      if (kind.name == "joseph_projector" || kind.name == "tor_projector") CHECK_MESSAGE(status == TOF_OK, tof_error());
      if (status != TOF_OK) CHECK(std::string(tof_error()).find('\n') == std::string::npos);
    }
}

TEST_CASE("parts of an operator are its data: views interleaved, events one after the other") {
  const Op whole = spect_operator();
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> all(turn_pixels);
  REQUIRE(tof_forward(whole.get(), x.data(), all.data(), nullptr) == TOF_OK);
  for (int part = 0; part < 2; ++part) {
    tof_operator* made = nullptr;
    REQUIRE(tof_operator_part(whole.get(), part, 2, &made) == TOF_OK);
    const Op op(made);
    std::vector<std::int64_t> indices(part == 0 ? 5 : 4);
    REQUIRE(tof_operator_indices(op.get(), indices.data(), static_cast<std::int64_t>(indices.size())) == TOF_OK);
    std::vector<float> some(indices.size() * 14 * 9);
    REQUIRE(tof_forward(op.get(), x.data(), some.data(), nullptr) == TOF_OK);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      CHECK(indices[i] == static_cast<std::int64_t>(2 * i) + part);
      CHECK(std::memcmp(some.data() + i * 126, all.data() + indices[i] * 126, 126 * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("an array takes the place of a file: attenuation weakens what lies behind it") {
  const CameraTurn turn;
  const std::vector<float> water(small_voxels, 0.15F);
  const tof_array mu{.size = sizeof(tof_array), .name = "mu", .grid = small_grid, .voxels = water.data()};
  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", "mu_map: memory:mu", &small_grid, &turn.views, &mu, 1,
                                        TOF_CPU, &made) == TOF_OK,
                  tof_error());
  const Op weak(made), strong = spect_operator("");
  const std::vector<float> x(small_voxels, 1);
  std::vector<float> less(turn_pixels), more(turn_pixels);
  REQUIRE(tof_forward(weak.get(), x.data(), less.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(strong.get(), x.data(), more.data(), nullptr) == TOF_OK);
  const std::vector<float> ones(turn_pixels, 1);
  CHECK(dot(less, ones) < 0.7 * dot(more, ones));
  CHECK(tof_operator_of_views("rotation_projector", "mu_map: memory:other", &small_grid, &turn.views, &mu, 1, TOF_CPU,
                              &made) != TOF_OK);
  CHECK(std::string(tof_error()) == "memory:other: no array of that name was given");
}

TEST_CASE("on a GPU an operator works where its arrays lie, and refuses those of the host") {
  if (!gpu_or_skip()) return;
  const CameraTurn turn;
  tof_operator* made = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", "psf: {slope: 0.02, sigma0_mm: 2}", &small_grid,
                                        &turn.views, nullptr, 0, TOF_CUDA, &made) == TOF_OK,
                  tof_error());
  const Op there(made), here = spect_operator();
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> expected(turn_pixels), back(small_voxels);
  REQUIRE(tof_forward(here.get(), x.data(), expected.data(), nullptr) == TOF_OK);
  const auto image = Buffer<float>::from(x).to(Memory::device);
  Buffer<float> data(Memory::device, turn_pixels), again(Memory::device, small_voxels);
  REQUIRE_MESSAGE(tof_forward(there.get(), image.data(), data.data(), nullptr) == TOF_OK, tof_error());
  const auto found = data.to_vector();
  const float most = *std::ranges::max_element(expected);
  for (std::size_t i = 0; i < turn_pixels; ++i) CHECK(std::abs(found[i] - expected[i]) < 2e-6F * most);
  REQUIRE(tof_adjoint(there.get(), data.data(), again.data(), nullptr) == TOF_OK);
  CHECK(dot(again.to_vector(), x) == approx(dot(found, found)).epsilon(1e-5));
  std::vector<float> s(small_voxels, 2), updated = x;
  const auto sensitivity = Buffer<float>::from(s).to(Memory::device);
  auto moved = Buffer<float>::from(x).to(Memory::device);
  const auto step = again.to_vector();
  REQUIRE(tof_em_update(here.get(), step.data(), s.data(), nullptr, updated.data(), nullptr) == TOF_OK);
  REQUIRE(tof_em_update(there.get(), again.data(), sensitivity.data(), sensitivity.data(), moved.data(), nullptr) ==
          TOF_OK);
  const auto on_device = moved.to_vector();
  for (std::size_t v = 0; v < small_voxels; ++v) CHECK(on_device[v] == approx(updated[v]).epsilon(1e-6));
  CHECK(tof_em_update(there.get(), again.data(), s.data(), nullptr, moved.data(), nullptr) == TOF_INVALID);
  CHECK(tof_forward(there.get(), x.data(), data.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()).find("image lies in the host's memory, and the operator works on the GPU") == 0);
  CHECK(tof_forward(here.get(), image.data(), expected.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()).find("image lies in the GPU's memory, and the operator works on the CPU") == 0);
}
// SPDX-License-Identifier: Apache-2.0
