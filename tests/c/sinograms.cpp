// Sinograms in the C interface: lines with bins of time of flight, in stretches of any number of lines.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/memory/memory.hpp"
#include "tests/c/operators.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/gpu.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("a sinogram's bins are the events in them, bit for bit, in stretches of any number of lines") {
  constexpr int bins = 5;
  Lines lines;
  lines.events.tof_mm = nullptr;
  std::vector<float> ends[6], tof_mm;
  for (std::int64_t i = 0; i < lines.events.count; ++i)
    for (int bin = 0; bin < bins; ++bin) {
      for (std::size_t end = 0; end < 6; ++end) ends[end].push_back(lines.ends[end][static_cast<std::size_t>(i)]);
      tof_mm.push_back(20.0F * static_cast<float>(bin - 2));
    }
  tof_events one_by_one{.size = sizeof(tof_events), .count = 500 * bins, .tof_sigma_mm = 30, .tof_bin_mm = 20};
  one_by_one.x1 = ends[0].data(), one_by_one.y1 = ends[1].data(), one_by_one.z1 = ends[2].data();
  one_by_one.x2 = ends[3].data(), one_by_one.y2 = ends[4].data(), one_by_one.z2 = ends[5].data();
  one_by_one.tof_mm = tof_mm.data();
  tof_operator *of_lines = nullptr, *of_events = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_lines("joseph_projector", "deterministic: true", &small_grid, &lines.events, bins,
                                        TOF_CPU, &of_lines) == TOF_OK,
                  tof_error());
  const Op sinogram(of_lines);
  REQUIRE(tof_operator_of_events("joseph_projector", "deterministic: true", &small_grid, &one_by_one, nullptr, 0,
                                 TOF_CPU, &of_events) == TOF_OK);
  const Op events(of_events);
  std::int64_t shape[4];
  std::int32_t axes = 0;
  REQUIRE(tof_operator_shape(of_lines, nullptr, shape, &axes, nullptr) == TOF_OK);
  CHECK(axes == 2);
  CHECK(shape[0] == 500);
  CHECK(shape[1] == bins);
  const auto x = random_numbers(small_voxels, 1), y = random_numbers(500 * bins, 2);
  std::vector<float> ax(500 * bins), same(500 * bins), aty(small_voxels), same_back(small_voxels);
  REQUIRE(tof_forward(of_lines, x.data(), ax.data(), nullptr) == TOF_OK);
  REQUIRE(tof_forward(of_events, x.data(), same.data(), nullptr) == TOF_OK);
  CHECK(ax == same);
  REQUIRE(tof_adjoint(of_lines, y.data(), aty.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(of_events, y.data(), same_back.data(), nullptr) == TOF_OK);
  CHECK(aty == same_back);
  CHECK(dot(ax, y) == approx(dot(x, aty)).epsilon(1e-5));

  // m y / (m A x + b), and 0 where nothing is expected.
  std::vector<float> ratio(500 * bins), step(small_voxels), back(small_voxels), sensitivity(small_voxels);
  const std::vector<float> half(500 * bins, 0.5F), background(500 * bins, 0.25F);
  for (std::size_t i = 0; i < ratio.size(); ++i) ratio[i] = 0.5F * y[i] / (0.5F * ax[i] + 0.25F);
  REQUIRE(tof_em_step(of_lines, x.data(), y.data(), half.data(), background.data(), step.data(), nullptr, nullptr) ==
          TOF_OK);
  REQUIRE(tof_adjoint(of_lines, ratio.data(), back.data(), nullptr) == TOF_OK);
  for (std::size_t k = 0; k < small_voxels; ++k) CHECK(step[k] == approx(back[k]).epsilon(1e-5));
  REQUIRE(tof_sensitivity(of_lines, half.data(), sensitivity.data(), nullptr) == TOF_OK);
  REQUIRE(tof_adjoint(of_lines, half.data(), back.data(), nullptr) == TOF_OK);
  CHECK(sensitivity == back);

  tof_operator* part = nullptr;
  REQUIRE(tof_operator_part(of_lines, 1, 3, &part) == TOF_OK);
  const Op middle(part);
  std::vector<float> some(167 * bins);
  REQUIRE(tof_forward(part, x.data(), some.data(), nullptr) == TOF_OK);
  CHECK(std::memcmp(some.data(), ax.data() + 166 * bins, some.size() * sizeof(float)) == 0);

  const auto said = [&](tof_events given, std::int32_t of_bins) {
    tof_operator* none = nullptr;
    CHECK(tof_operator_of_lines("joseph_projector", "", &small_grid, &given, of_bins, TOF_CPU, &none) == TOF_INVALID);
    CHECK(none == nullptr);
    return std::string(tof_error());
  };
  CHECK(said(lines.events, -1) == "bins is -1: it must be in [0, 10000]");
  CHECK(said(one_by_one, 3) == "lines.tof_mm is given: a sinogram's lines have bins");
  tof_events no_sigma = lines.events;
  no_sigma.tof_sigma_mm = 0;
  CHECK(said(no_sigma, 3) == "lines.tof_sigma_mm and tof_bin_mm are 0 and 20: bins need both");
  CHECK(tof_em_step(of_lines, x.data(), nullptr, nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts is null: an EM step of a sinogram needs its counts");
}

TEST_CASE("on a GPU a sinogram's bins are those of the CPU, and wrong counts are found there") {
  if (!gpu_or_skip()) return;
  constexpr int bins = 5;
  Lines lines;
  lines.events.tof_mm = nullptr;
  Buffer<float> ends[6];
  tof_events there = lines.events;
  const float** const pointers[] = {&there.x1, &there.y1, &there.z1, &there.x2, &there.y2, &there.z2};
  for (std::size_t end = 0; end < 6; ++end) {
    ends[end] = Buffer<float>::from(lines.ends[end]).to(Memory::device);
    *pointers[end] = ends[end].data();
  }
  tof_operator *of_host = nullptr, *of_device = nullptr;
  REQUIRE(tof_operator_of_lines("joseph_projector", "", &small_grid, &lines.events, bins, TOF_CPU, &of_host) == TOF_OK);
  const Op host(of_host);
  REQUIRE_MESSAGE(
      tof_operator_of_lines("joseph_projector", "", &small_grid, &there, bins, TOF_CUDA, &of_device) == TOF_OK,
      std::string(tof_error()));
  const Op device(of_device);
  const auto x = random_numbers(small_voxels, 1);
  std::vector<float> expected(500 * bins), step(small_voxels);
  REQUIRE(tof_forward(of_host, x.data(), expected.data(), nullptr) == TOF_OK);
  const auto image = Buffer<float>::from(x).to(Memory::device);
  Buffer<float> data(Memory::device, 500 * bins), update(Memory::device, small_voxels);
  REQUIRE_MESSAGE(tof_forward(of_device, image.data(), data.data(), nullptr) == TOF_OK, std::string(tof_error()));
  const auto found = data.to_vector();
  const float most = *std::ranges::max_element(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-5F * most);
  auto counts = expected;
  REQUIRE(tof_em_step(of_host, x.data(), counts.data(), nullptr, nullptr, step.data(), nullptr, nullptr) == TOF_OK);
  REQUIRE_MESSAGE(
      tof_em_step(of_device, image.data(), data.data(), nullptr, nullptr, update.data(), nullptr, nullptr) == TOF_OK,
      std::string(tof_error()));
  const auto updated = update.to_vector();
  const float most_seen = *std::ranges::max_element(step);
  for (std::size_t k = 0; k < small_voxels; ++k) CHECK(std::abs(updated[k] - step[k]) < 1e-4F * most_seen);
  counts[11] = -2;
  const auto wrong = Buffer<float>::from(counts).to(Memory::device);
  CHECK(tof_em_step(of_device, image.data(), wrong.data(), nullptr, nullptr, update.data(), nullptr, nullptr) ==
        TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts[2, 1] is -2: it must be finite and at least 0");
}
// SPDX-License-Identifier: Apache-2.0
