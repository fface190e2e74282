// Rows of pixels as the GPU evaluates them, against P in double precision.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "kernels/strip/row-inl.hpp"
#include "tests/kernels/strip/strip_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::testing;

namespace {

/// The largest difference of an event's P at any pixel of the grid, relative to its largest P.
template <StripForm form>
double worst_difference(const StripSettings& settings, const Response& response, const Grid& grid) {
  constexpr int reach = 8;
  const auto terms =
      StripEventTerms<float>::make(form, settings.geometry, settings.resolution,
                                   {static_cast<float>(response.z_up_mm), static_cast<float>(response.z_down_mm),
                                    static_cast<float>(response.dl_mm)});
  const StripBox box = strip_box(terms, grid);
  const auto event = strip::RowEvent::make(terms, grid, box);
  const auto rest = strip::RowEventRest::make(terms, 0);
  double largest = 0, difference = 0;
  for (int row = 0; row < event.rows; ++row) {
    const float dy = event.dy + static_cast<float>(row) * grid.voxel_mm.y;
    const strip::PixelRow<form> pixels(event, dy);
    CHECK(pixels.regular(event, reach));
    const double y = static_cast<double>(grid.centre(0, box.y_first + row, 0).y);
    const auto angle = [&](int k) {
      const double z =
          static_cast<double>(grid.centre(0, 0, 0).z) + (pixels.column + k) * static_cast<double>(grid.voxel_mm.z);
      return strip_angles(settings.geometry, y, z);
    };
    for (int k = -reach; k <= reach; ++k) {
      const double z =
          static_cast<double>(grid.centre(0, 0, 0).z) + (pixels.column + k) * static_cast<double>(grid.voxel_mm.z);
      const double expected = density_of<form>(settings, response, y, z);
      const auto below = [&](double end) {
        return pixels.density_below(rest, k, static_cast<float>(end) * strip::half_log2e, false);
      };
      const float density = form == StripForm::full ? below(angle(k).high) - below(angle(k).low) : pixels.density(k);
      const double actual = static_cast<double>(rest.scale * pixels.factor * density);
      largest = std::max(largest, expected);
      if (expected > 0 && actual > 0) difference = std::max(difference, std::abs(actual - expected));
    }
  }
  return largest > 0 ? difference / largest : 0;
}

}  // namespace

TEST_CASE("rows of pixels have the P of the kernel, every form, also with a rising sigma and gamma") {
  for (const bool plain : {true, false}) {
    StripSettings settings;
    if (!plain) settings.resolution = {.sigma_z_edge_rise = 0.1f, .gamma_per_mm2 = 2e-4f};
    for (const Response& response : {Response{0, 0, 0}, Response{60, -40, 30}, Response{-100, 90, -120},
                                     Response{140, 120, 80}, Response{170, 20, -60}, Response{-30, -155, 10}}) {
      CAPTURE(response.z_up_mm);
      const Grid grid = Grid::centred(1, 65, 75, {4, 4, 4});
      CHECK(worst_difference<StripForm::gaussian>(settings, response, grid) < 1e-5);
      CHECK(worst_difference<StripForm::eq7>(settings, response, grid) < 1e-5);
      CHECK(worst_difference<StripForm::full>(settings, response, grid) < 2e-5);
    }
  }
}

TEST_CASE("the share of angles below an end keeps its digits, also mirrored") {
  for (const float high : {-4.0f, -1.0f, -0.1f, 0.0f, 0.3f, 2.0f, 7.0f}) {
    CAPTURE(high);
    const double deviations = static_cast<double>(high) / std::sqrt(static_cast<double>(strip::half_log2e));
    CHECK(static_cast<double>(strip::share_below(high, false)) ==
          approx(0.5 * std::erfc(-deviations / std::sqrt(2.0))).epsilon(4e-6));
    CHECK(strip::share_below(high, true) == approx(strip::share_below(-high, false)));
  }
}

TEST_CASE("pixels of 2 mm: 64 rows of 25 pixels hold every ellipse") {
  StripSettings settings;
  settings.resolution.sigma_z_edge_rise = 0.1f;
  const Grid grid = Grid::centred(1, 131, 149, {2, 2, 2});
  constexpr int reach = 12;
  for (const Response& response : {Response{0, 0, 0}, Response{60, -40, 30}, Response{-100, 90, -120},
                                   Response{140, 120, 80}, Response{170, 20, -60}, Response{-30, -155, 10}}) {
    CAPTURE(response.z_up_mm);
    const auto terms =
        StripEventTerms<float>::make(StripForm::full, settings.geometry, settings.resolution,
                                     {static_cast<float>(response.z_up_mm), static_cast<float>(response.z_down_mm),
                                      static_cast<float>(response.dl_mm)});
    const StripBox box = strip_box(terms, grid);
    const auto event = strip::RowEvent::make(terms, grid, box);
    const auto rest = strip::RowEventRest::make(terms, 0);
    CHECK(event.rows <= 64);
    double largest = 0, difference = 0;
    for (int row = 0; row < event.rows; ++row) {
      const strip::PixelRow<StripForm::full> pixels(event, event.dy + static_cast<float>(row) * grid.voxel_mm.y);
      const float y = grid.centre(0, box.y_first + row, 0).y,
                  z = grid.centre(0, 0, 0).z + 2.0f * static_cast<float>(pixels.column);
      for (int k = -2 * reach; k <= 2 * reach; ++k) {
        const double expected =
            density_of<StripForm::full>(settings, response, static_cast<double>(y), static_cast<double>(z) + 2.0 * k);
        largest = std::max(largest, expected);
        if (std::abs(k) > reach) {
          CHECK(expected == 0);
          continue;
        }
        const auto ends =
            strip_angles<double>(settings.geometry, static_cast<double>(y), static_cast<double>(z) + 2.0 * k);
        const auto below = [&](double angle) {
          return pixels.density_below(rest, k, static_cast<float>(angle) * strip::half_log2e, false);
        };
        const float share = below(ends.high) - below(ends.low);
        const double actual = static_cast<double>(rest.scale * pixels.factor * share);
        if (expected > 0 && actual > 0) difference = std::max(difference, std::abs(actual - expected));
      }
    }
    CHECK(largest > 0);
    CHECK(difference < 2e-5 * largest);
  }
}
// SPDX-License-Identifier: Apache-2.0
