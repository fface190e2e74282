// The caller's arrays of views: see view_arrays.hpp.
#include "tools/c/view_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tools/c/guard.hpp"

namespace tofstream::c_api {

std::shared_ptr<const ViewSet> view_set_of(const tof_views& from) {
  const tof_views given = adopted(from, "views", offsetof(tof_views, start_s));
  require_given(given.angle_deg, "views.angle_deg");
  require_given(given.radius_mm, "views.radius_mm");
  constexpr std::int32_t most_views = 1'000'000;
  if (given.views < 1 || given.views > most_views)
    throw Wrong(fmt::format("views.views is {}: it must be in [1, {}]", given.views, most_views));
  auto set = std::make_shared<ViewSet>();
  for (int axis = 0; axis < 2; ++axis) {
    set->size[axis] = given.pixels[axis];
    set->pixel_mm.set(axis, given.pixel_mm[axis]);
  }
  for (std::int32_t v = 0; v < given.views; ++v)
    set->places.push_back({.angle_deg = static_cast<float>(given.angle_deg[v]),
                           .radius_mm = static_cast<float>(given.radius_mm[v]),
                           .centre_u_mm = given.centre_u_mm ? static_cast<float>(given.centre_u_mm[v]) : 0,
                           .centre_w_mm = given.centre_w_mm ? static_cast<float>(given.centre_w_mm[v]) : 0,
                           .start_s = given.start_s ? given.start_s[v] : v,
                           .duration_s = given.duration_s ? given.duration_s[v] : 1});
  if (given.window_count > 0) require_given(given.window_keV, "views.window_keV");
  for (std::size_t window = 0; window < given.window_count; ++window)
    set->windows.push_back({.low_keV = static_cast<float>(given.window_keV[2 * window]),
                            .high_keV = static_cast<float>(given.window_keV[2 * window + 1])});
  try {
    set->validate();
  } catch (const std::invalid_argument& wrong) {
    throw Wrong(fmt::format("views: {}", wrong.what()));
  }
  return set;
}

namespace {

Buffer<float> pixels_of(const float* pixels, std::int64_t count, const char* argument) {
  if (!pixels) return {};
  require_memory(pixels, false, argument);
  const std::span given(pixels, static_cast<std::size_t>(count));
  const auto wrong = std::ranges::find_if_not(given, [](float pixel) { return pixel >= 0 && std::isfinite(pixel); });
  if (wrong != given.end())
    throw Wrong(fmt::format("{}[{}] is {}: only finite numbers that are not negative are taken", argument,
                            wrong - given.begin(), *wrong));
  return Buffer<float>::from(given);
}

// What the books and the weights need of view `i` of the batch.
ViewRecord record_of(const tof_view_counts& views, std::int32_t i, const ViewSet& set, std::span<const float> counts) {
  const std::int32_t number = views.numbers[i];
  if (number < 0 || static_cast<std::size_t>(number) >= set.places.size())
    throw Wrong(
        fmt::format("views.numbers[{}] is {}, and the plan has {} views (from 0)", i, number, set.places.size()));
  const double exposure = views.exposure ? views.exposure[i] : 1;
  if (!(exposure > 0 && std::isfinite(exposure)))
    throw Wrong(fmt::format("views.exposure[{}] is {}: it must be positive", i, exposure));
  const auto pixels = static_cast<std::size_t>(set.pixels());
  const auto view = counts.subspan(static_cast<std::size_t>(i) * pixels, pixels);
  const double sum = std::accumulate(view.begin(), view.end(), 0.0);
  return {.view = number, .exposure = exposure, .counts = static_cast<std::uint64_t>(std::llround(sum))};
}

}  // namespace

ViewBatch batch_of(const tof_view_counts& views, const std::shared_ptr<const ViewSet>& set) {
  require_given(views.numbers, "views.numbers");
  require_given(views.counts, "views.counts");
  if (views.count < 1) throw Wrong(fmt::format("views.count is {}: give at least one view", views.count));
  const auto windows = static_cast<std::int32_t>(std::max<std::size_t>(set->windows.size(), 1));
  if (views.window < 0 || views.window >= windows)
    throw Wrong(fmt::format("views.window is {}, and the plan has {} (from 0)", views.window, windows));
  ViewBatch batch{.count = views.count * set->pixels(), .set = set, .window = views.window};
  batch.counts = pixels_of(views.counts, batch.count, "views.counts");
  batch.multiplicative = pixels_of(views.multiplicative, batch.count, "views.multiplicative");
  batch.additive = pixels_of(views.additive, batch.count, "views.additive");
  for (std::int32_t i = 0; i < views.count; ++i)
    batch.records.push_back(record_of(views, i, *set, batch.counts.span()));
  batch.weigh(1);
  return batch;
}

}  // namespace tofstream::c_api
// SPDX-License-Identifier: Apache-2.0
