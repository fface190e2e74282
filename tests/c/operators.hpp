// What the tests of operators in C have in common: a small grid, a camera's turn and lines through the grid.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tools/c/tofstream.h"

namespace tofstream::testing {

inline constexpr tof_grid small_grid{
    .size = sizeof(tof_grid), .voxels = {12, 10, 8}, .voxel_mm = {8, 9, 10}, .origin_mm = {-44, -40.5F, -35}};
inline constexpr std::size_t small_voxels = 12 * 10 * 8;

inline std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<float> values(count);
  for (float& value : values) value = number(random);
  return values;
}

inline double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

struct Dropped {
  void operator()(tof_operator* op) const { tof_operator_drop(op); }
};
using Op = std::unique_ptr<tof_operator, Dropped>;

struct CameraTurn {
  std::vector<double> angle_deg, radius_mm;
  tof_views views{.size = sizeof(tof_views), .views = 9, .pixels = {14, 9}, .pixel_mm = {7, 8}};
  CameraTurn() {
    for (int v = 0; v < 9; ++v) angle_deg.push_back(40.0 * v), radius_mm.push_back(120 + v);
    views.angle_deg = angle_deg.data();
    views.radius_mm = radius_mm.data();
  }
};
inline constexpr std::size_t turn_pixels = 9 * 14 * 9;

inline Op spect_operator(const char* parameters = "psf: {slope: 0.02, sigma0_mm: 2}") {
  const CameraTurn turn;
  tof_operator* op = nullptr;
  REQUIRE_MESSAGE(tof_operator_of_views("rotation_projector", parameters, &small_grid, &turn.views, nullptr, 0, TOF_CPU,
                                        &op) == TOF_OK,
                  tof_error());
  return Op(op);
}

/// Lines through the grid between points of a ring of 200 mm.
struct Lines {
  std::vector<float> ends[6], tof_mm;
  tof_events events{.size = sizeof(tof_events), .count = 500};
  Lines() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> angle(0, 6.2831853F), z(-30, 30), tof(-60, 60);
    for (std::int64_t i = 0; i < events.count; ++i) {
      for (std::size_t end = 0; end < 2; ++end) {
        const float at = angle(random);
        ends[3 * end].push_back(200 * std::cos(at));
        ends[3 * end + 1].push_back(200 * std::sin(at));
        ends[3 * end + 2].push_back(z(random));
      }
      tof_mm.push_back(tof(random));
    }
    events.x1 = ends[0].data(), events.y1 = ends[1].data(), events.z1 = ends[2].data();
    events.x2 = ends[3].data(), events.y2 = ends[4].data(), events.z2 = ends[5].data();
    events.tof_mm = tof_mm.data();
    events.tof_sigma_mm = 30;
    events.tof_bin_mm = 20;
  }
};

}  // namespace tofstream::testing
// SPDX-License-Identifier: Apache-2.0
